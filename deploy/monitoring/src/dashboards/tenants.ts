import { CHOSEN, dashboard, stacked, wide } from '../panels.ts';

const ALL = `sum by (crs_organization) (crs_tenant_slots{${CHOSEN}})`;

export const tenants = dashboard(
  'crs-tenants',
  'Organizations',
  'The organizations that keep the gateways busy. There are metrics of them only with the setting `CRS_TENANT_METRICS` of both gateways.',
  [
    [
      'Busy organizations',
      [
        stacked(
          'Slots in use',
          'short',
          'Slots of all gateways, on average. A slot is used from the admission of a request until its answer is sent.',
          [`sum by (crs_organization) (crs_tenant_slots{${CHOSEN}})`, '{{crs_organization}}'],
        ).span(12),
        stacked('Requests', 'reqps', 'Requests that got a slot. Those above a rate limit get none.', [
          `sum by (crs_organization) (crs_tenant_requests{${CHOSEN}})`,
          '{{crs_organization}}',
        ]).span(12),
        wide('Share of the busiest', 'percentunit', 'Of all slots in use. One organization near 1 crowds the gateways.', [
          `topk(5, ${ALL} / scalar(sum(${ALL}) > 0))`,
          '{{crs_organization}}',
        ]),
        wide(
          'Time in a slot',
          's',
          'How long a request of the organization takes, on average. A high value with few requests: its requests are heavy.',
          [
            `sum by (crs_organization) (crs_tenant_slots{${CHOSEN}}) / (sum by (crs_organization) (crs_tenant_requests{${CHOSEN}}) > 0)`,
            '{{crs_organization}}',
          ],
        ),
      ],
    ],
  ],
);
