import { CHOSEN, type Dashboard, type Panel } from '../panels.ts';

const lines = (title: string, unit: string, description: string, ...queries: [string, string][]): Panel => ({
  type: 'timeseries',
  title,
  unit,
  description,
  queries,
});
const decisions = (by: string) => `sum by (${by}) (rate(crs_ratelimit_decisions_total{${CHOSEN}}[$__rate_interval]))`;

export const limiter: Dashboard = {
  uid: 'crs-limiter',
  title: 'Rate limits',
  description: 'Who is limited, who decides, and how Redis is.',
  rows: [
    [
      'Decisions of gateways',
      [
        lines('By kind and outcome', 'reqps', 'Of whom requests were charged, and whether they were let through.', [
          decisions('kind, outcome'),
          '{{kind}} {{outcome}}',
        ]),
        lines(
          'By source',
          'reqps',
          '`service`: rate-limit. `remembered`: a refusal that it would repeat. `fallback`: the gateway alone.',
          [decisions('service, source'), '{{service}} {{source}}'],
        ),
        lines('Share of the fallback', 'percentunit', 'Should be 0. Limits are then kept by each gateway for its part.', [
          `(sum by (service) (rate(crs_ratelimit_decisions_total{${CHOSEN},source="fallback"}[$__rate_interval])) or 0 * ${decisions('service')}) / ${decisions('service')}`,
          '{{service}}',
        ]),
        lines('Charges without an answer', 'ops', 'By why.', [
          `sum by (service, error_type) (rate(crs_ratelimit_failures_total{${CHOSEN}}[$__rate_interval]))`,
          '{{service}} {{error_type}}',
        ]),
        lines(
          'Time of a charge',
          's',
          'As gateways see it, several charges in one call.',
          [
            `histogram_quantile(0.5, sum by (le) (rate(rpc_client_call_duration_bucket{${CHOSEN},rpc_method=~".*/ShouldRateLimit"}[$__rate_interval])))`,
            '50th percentile',
          ],
          [
            `histogram_quantile(0.99, sum by (le) (rate(rpc_client_call_duration_bucket{${CHOSEN},rpc_method=~".*/ShouldRateLimit"}[$__rate_interval])))`,
            '99th percentile',
          ],
        ),
        lines('Breaker', 'short', '1: gateways do not ask rate-limit.', [
          `max by (service, instance) (crs_breaker_open{${CHOSEN},target="rate-limit"})`,
          '{{service}} {{instance}}',
        ]),
      ],
    ],
    [
      'rate-limit and Redis',
      [
        lines('Checks by kind and outcome', 'reqps', 'What rate-limit answered for.', [
          `sum by (kind, outcome) (rate(crs_ratelimit_checks_total{${CHOSEN}}[$__rate_interval]))`,
          '{{kind}} {{outcome}}',
        ]),
        lines(
          'Time until Redis answered',
          's',
          'A charge waits for 20 ms at most.',
          [
            `histogram_quantile(0.5, sum by (le) (rate(db_client_operation_duration_bucket{${CHOSEN},db_system_name="redis"}[$__rate_interval])))`,
            '50th percentile',
          ],
          [
            `histogram_quantile(0.99, sum by (le) (rate(db_client_operation_duration_bucket{${CHOSEN},db_system_name="redis"}[$__rate_interval])))`,
            '99th percentile',
          ],
        ),
        lines('Charges that Redis did not answer', 'ops', 'By why.', [
          `sum by (instance, error_type) (rate(db_client_operation_duration_count{${CHOSEN},db_system_name="redis",error_type!=""}[$__rate_interval]))`,
          '{{instance}} {{error_type}}',
        ]),
        lines('Connected to Redis', 'short', '1: there is a connection.', [
          `max by (instance) (crs_redis_connected{${CHOSEN}})`,
          '{{instance}}',
        ]),
      ],
    ],
  ],
};
