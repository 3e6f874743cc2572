import { CHOSEN, dashboard, stacked, wide } from '../panels.ts';

const SLOTS = `sum by (crs_organization) (rate(crs_tenant_slot_time_total{${CHOSEN}}[$__rate_interval]))`;
const REQUESTS = `sum by (crs_organization) (rate(crs_tenant_requests_total{${CHOSEN}}[$__rate_interval]))`;

export const tenants = dashboard(
  'crs-tenants',
  'Organizations',
  'The organizations that use the gateways most. Needs `CRS_TENANT_METRICS=true` at both gateways.',
  [
    [
      'Busy organizations',
      [
        stacked(
          'Slots in use',
          'short',
          'Average over all gateways. A request uses a slot from its admission until its response is sent.',
          [`topk(20, ${SLOTS})`, '{{crs_organization}}'],
        ).span(12),
        stacked('Requests', 'reqps', 'Requests that got a slot. Rate-limited requests do not get one.', [
          `topk(20, ${REQUESTS})`,
          '{{crs_organization}}',
        ]).span(12),
        wide(
          'Share of the busiest organizations',
          'percentunit',
          'Share of all slots in use. An organization near 1 uses almost all capacity of the gateways.',
          [`topk(5, ${SLOTS} / scalar(sum(${SLOTS}) > 0))`, '{{crs_organization}}'],
        ),
        wide(
          'Time in a slot',
          's',
          'Average duration of a request of the organization. A high value with few requests means that its requests are expensive.',
          [`topk(20, ${SLOTS} / (${REQUESTS} > 0))`, '{{crs_organization}}'],
        ),
      ],
    ],
  ],
);
