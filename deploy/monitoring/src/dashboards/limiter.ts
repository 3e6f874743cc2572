import { CHOSEN, dashboard, lines, quantile } from '../panels.ts';

const CHARGE = `${CHOSEN},rpc_method=~".*/ShouldRateLimit"`;
const REDIS = `${CHOSEN},db_system_name="redis"`;
const decisions = (by: string) => `sum by (${by}) (rate(crs_ratelimit_decisions_total{${CHOSEN}}[$__rate_interval]))`;

export const limiter = dashboard(
  'crs-limiter',
  'Rate limits',
  'Rate-limited requests, which process made the decision, and the state of Redis.',
  [
    [
      'Decisions at the gateways',
      [
        lines('By kind and outcome', 'reqps', 'The kind of caller that was charged, and whether its request was admitted.', [
          decisions('kind, outcome'),
          '{{kind}} {{outcome}}',
        ]),
        lines(
          'By source',
          'reqps',
          '`service`: rate-limit decided. `remembered`: the gateway repeated a cached refusal of rate-limit. `fallback`: the gateway decided from its local counters.',
          [decisions('service, source'), '{{service}} {{source}}'],
        ),
        lines(
          'Share of the fallback',
          'percentunit',
          'Normally 0. Above 0, each gateway process counts locally and admits up to the full limit.',
          [
            `(sum by (service) (rate(crs_ratelimit_decisions_total{${CHOSEN},source="fallback"}[$__rate_interval])) or 0 * ${decisions('service')}) / ${decisions('service')}`,
            '{{service}}',
          ],
        ),
        lines('Failed charges', 'ops', 'Calls to rate-limit that got no response, by reason.', [
          `sum by (service, error_type) (rate(crs_ratelimit_failures_total{${CHOSEN}}[$__rate_interval]))`,
          '{{service}} {{error_type}}',
        ]),
        lines(
          'Charge latency',
          's',
          'Measured at the gateways. One call contains several charges.',
          [quantile(0.5, 'rpc_client_call_duration', CHARGE), '50th percentile'],
          [quantile(0.99, 'rpc_client_call_duration', CHARGE), '99th percentile'],
        ),
        lines('Breaker', 'short', '1: the circuit breaker is open, so the gateway does not call rate-limit.', [
          `max by (service, instance) (crs_breaker_open{${CHOSEN},target="rate-limit"})`,
          '{{service}} {{instance}}',
        ]),
      ],
    ],
    [
      'rate-limit and Redis',
      [
        lines('Checks by kind and outcome', 'reqps', 'The responses of rate-limit.', [
          `sum by (kind, outcome) (rate(crs_ratelimit_checks_total{${CHOSEN}}[$__rate_interval]))`,
          '{{kind}} {{outcome}}',
        ]),
        lines(
          'Redis latency',
          's',
          'rate-limit waits for Redis for at most 20 ms.',
          [quantile(0.5, 'db_client_operation_duration', REDIS), '50th percentile'],
          [quantile(0.99, 'db_client_operation_duration', REDIS), '99th percentile'],
        ),
        lines('Failed Redis commands', 'ops', 'Charges for which Redis did not respond, by reason.', [
          `sum by (instance, error_type) (rate(db_client_operation_duration_count{${REDIS},error_type!=""}[$__rate_interval]))`,
          '{{instance}} {{error_type}}',
        ]),
        lines('Connected to Redis', 'short', '1: the process has a connection.', [
          `max by (instance) (crs_redis_connected{${CHOSEN}})`,
          '{{instance}}',
        ]),
      ],
    ],
  ],
);
