import { CHOSEN, dashboard, stacked, wide } from '../panels.ts';

const SLOTS = `sum by (crs_organization) (rate(crs_tenant_slot_time_total{${CHOSEN}}[$__rate_interval]))`;
const REQUESTS = `sum by (crs_organization) (rate(crs_tenant_requests_total{${CHOSEN}}[$__rate_interval]))`;

export const tenants = dashboard(
  'crs-tenants',
  'Organizations',
  'The organizations that keep the gateways busy. There are metrics of them only with `CRS_TENANT_METRICS=true` at both gateways.',
  [
    [
      'Busy organizations',
      [
        stacked(
          'Slots in use',
          'short',
          'Slots of all gateways, on average. A slot is used from the admission of a request until its answer is sent.',
          [`topk(20, ${SLOTS})`, '{{crs_organization}}'],
        ).span(12),
        stacked('Requests', 'reqps', 'Requests that got a slot. Those above a rate limit get none.', [
          `topk(20, ${REQUESTS})`,
          '{{crs_organization}}',
        ]).span(12),
        wide('Share of the busiest', 'percentunit', 'Of all slots in use. One organization near 1 crowds the gateways.', [
          `topk(5, ${SLOTS} / scalar(sum(${SLOTS}) > 0))`,
          '{{crs_organization}}',
        ]),
        wide(
          'Time in a slot',
          's',
          'How long a request of the organization takes, on average. A high value with few requests: its requests are heavy.',
          [`topk(20, ${SLOTS} / (${REQUESTS} > 0))`, '{{crs_organization}}'],
        ),
      ],
    ],
  ],
);
