import { OURS, ofKind } from './objectives.ts';

export interface Alert {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: 'critical' | 'warning' };
  annotations: { summary: string; description: string };
}

const SERVICES = ['api-gateway', 'tool-gateway', 'auth', 'calls', 'projects', 'entities', 'rate-limit'];

/** Error codes of a server that is down, full, stopping or refuses the password, and of the network. A failed statement has other codes. */
const AWAY = '08...|28...|53...|57P..|E[A-Z]+|disconnected';

const WAITED_IN_VAIN = `db_client_operation_duration_count{${OURS},db_query_summary="take_places",error_type=~"55P03|57014"}`;

/** The parts of an alert that differ from one to the next. `for` keeps restarts and single missed scrapes from raising it. */
interface Condition {
  expr: string;
  for?: string;
  summary: string;
  description: string;
}

const alertOf =
  (severity: 'critical' | 'warning') =>
  (alert: string, { summary, description, ...condition }: Condition): Alert => ({
    alert,
    ...condition,
    labels: { severity },
    annotations: { summary, description },
  });
const critical = alertOf('critical');
const warning = alertOf('warning');

/** The alerts that are not about error budgets. */
export const ALERTS: Alert[] = [
  critical('CallResearchNothingServed', {
    expr: `(
  sum by (job, namespace, service) (rate(http_server_request_duration_count{${OURS},service=~"api-gateway|tool-gateway"}[10m])) > 0.05
  unless sum by (job, namespace, service) (rate(http_server_request_duration_count{${OURS},service=~"api-gateway|tool-gateway",http_response_status_code=~"[23].."}[10m])) > 0
)
or (
  sum by (job, namespace, service) (rate(http_server_request_duration_count{${OURS},service=~"api-gateway|tool-gateway"}[30m])) == 0
  and sum by (job, namespace, service) (rate(http_server_request_duration_count{${OURS},service=~"api-gateway|tool-gateway"}[1h] offset 30m)) > 0.05
)`,
    for: '5m',
    summary: '{{ $labels.service }} serves no request',
    description:
      'Requests reach {{ $labels.service }} and none succeeds, or no request has come for half an hour after an hour with many.',
  }),
  critical('CallResearchServiceGone', {
    // `absent` keeps the labels of a plain selector only, so each service needs its own.
    expr: [
      `max by (job, namespace, service) (up{${OURS}}) == 0`,
      ...SERVICES.map((service) => `absent(up{${OURS},service="${service}"})`),
    ].join('\nor '),
    for: '2m',
    summary: 'No process of {{ $labels.service }} is visible',
    description: 'For two minutes Prometheus has read the metrics of no process of {{ $labels.service }}.',
  }),
  warning('CallResearchScrapeGone', {
    expr: `up{${OURS}} == 0`,
    for: '5m',
    summary: 'Metrics of {{ $labels.service }} at {{ $labels.instance }} cannot be read',
    description:
      'Prometheus knows the process of {{ $labels.service }} at {{ $labels.instance }} and has read no metrics of it for five minutes.',
  }),
  warning('CallResearchNotReady', {
    expr: `crs_ready{${OURS}} == 0`,
    for: '5m',
    summary: '{{ $labels.service }} at {{ $labels.instance }} is not ready',
    description:
      'The process at {{ $labels.instance }} has run for five minutes without traffic: it is starting, waits for the schema of its database, or is stopping.',
  }),
  warning('CallResearchRestarting', {
    expr: `count by (job, namespace, service, instance) (count by (job, namespace, service, instance, service_instance_id) (count_over_time(target_info{${OURS}}[15m]))) > 3`,
    summary: '{{ $labels.service }} at {{ $labels.instance }} starts again and again',
    description: '{{ $value }} processes of {{ $labels.service }} ran at {{ $labels.instance }} within 15 minutes.',
  }),
  critical('CallResearchDatabaseAway', {
    expr: `sum by (job, namespace, service) (rate(db_client_operation_duration_count{${OURS},db_system_name="postgresql",error_type=~"${AWAY}"}[2m])) > 0`,
    for: '1m',
    summary: '{{ $labels.service }} cannot reach PostgreSQL',
    description:
      '{{ $value | humanize }} connections or statements of {{ $labels.service }} fail each second because PostgreSQL does not answer, refuses connections or is stopping.',
  }),
  warning('CallResearchFeedHeld', {
    // The first of these errors makes the series, which `increase` doesn't see.
    expr: `sum by (job, namespace, service) (increase(${WAITED_IN_VAIN}[10m])) > 0
or sum by (job, namespace, service) (${WAITED_IN_VAIN} unless ${WAITED_IN_VAIN} offset 10m) > 0`,
    summary: 'A transaction holds the feed of an organization',
    description:
      '{{ $value | humanize }} imports or deletions of {{ $labels.service }} waited in vain for the row that orders changes, within ten minutes.',
  }),
  warning('CallResearchDatabasePoolExhausted', {
    expr: `avg_over_time(crs_bulkhead_work{${OURS},crs_bulkhead_name=~".+-database",crs_bulkhead_state="waiting"}[5m]) > 1`,
    for: '5m',
    summary: 'Statements of {{ $labels.service }} wait for a connection',
    description:
      '{{ $value | humanize }} pieces of work wait for connections ({{ $labels.crs_bulkhead_name }}) at {{ $labels.instance }}, on average over five minutes.',
  }),
  warning('CallResearchBreakerOpen', {
    expr: `max by (job, namespace, service, target) (max_over_time(crs_breaker_open{${OURS}}[1m])) > 0`,
    for: '1m',
    summary: '{{ $labels.service }} refuses calls to {{ $labels.target }}',
    description: 'Most calls of {{ $labels.service }} to {{ $labels.target }} failed, so it refuses further ones at once.',
  }),
  warning('CallResearchShedding', {
    expr: `sum by (job, namespace, service, crs_bulkhead_name) (rate(crs_bulkhead_shed_total{${OURS}}[5m])) > 0.2`,
    for: '2m',
    summary: '{{ $labels.service }} refuses work because it has too much',
    description:
      '{{ $value | humanize }} requests or statements a second get no slot of {{ $labels.crs_bulkhead_name }} in time and end with 503.',
  }),
  warning('CallResearchLimiterFallback', {
    expr: `sum by (job, namespace, service) (rate(crs_ratelimit_decisions_total{${OURS},source="fallback"}[2m])) > 0`,
    for: '2m',
    summary: '{{ $labels.service }} counts requests by itself',
    description: 'rate-limit gives {{ $labels.service }} no answers, so each gateway admits up to the limit by itself.',
  }),
  warning('CallResearchRedisAway', {
    expr: `crs_redis_connected{${OURS}} == 0`,
    for: '1m',
    summary: 'rate-limit at {{ $labels.instance }} has no Redis',
    description:
      'For a minute rate-limit at {{ $labels.instance }} has had no connection to Redis. Gateways count requests by themselves.',
  }),
  warning('CallResearchEventLoopBlocked', {
    expr: `nodejs_eventloop_delay_p99{${OURS}} > 0.5`,
    for: '5m',
    summary: 'The event loop of {{ $labels.service }} at {{ $labels.instance }} is blocked',
    description:
      'One in a hundred turns of the event loop at {{ $labels.instance }} is more than {{ $value | humanizeDuration }} late.',
  }),
  warning('CallResearchImportRefusals', {
    expr: `sum by (job, namespace, service) (increase(crs_import_lines_total{${OURS},outcome="refused"}[30m]))
> 0.01 * sum by (job, namespace, service) (increase(crs_import_lines_total{${OURS}}[30m]))`,
    summary: '{{ $labels.service }} refuses lines of an import',
    description: '{{ $value | humanize }} lines, more than one in a hundred, were refused within half an hour.',
  }),
  warning('CallResearchOperatorRefusals', {
    expr: `sum by (job, namespace, service) (increase(crs_operator_refusals_total{${OURS}}[10m])) > 5`,
    summary: '{{ $labels.service }} refuses an operator again and again',
    description:
      '{{ $value | humanize }} calls on the admin listener of {{ $labels.service }} were refused within ten minutes: unknown or revoked credentials, or rights that do not suffice.',
  }),
  warning('CallResearchCertificateExpiry', {
    expr: `crs_tls_certificate_expiry{${OURS}} - time() < 7 * 86400 and crs_tls_certificate_expiry{${OURS}} - time() >= 3 * 86400`,
    for: '10m',
    summary: 'The certificate of {{ $labels.service }} expires soon',
    description:
      'The certificate in use at {{ $labels.instance }} expires in {{ $value | humanizeDuration }}. Its renewal is overdue.',
  }),
  critical('CallResearchCertificateExpiry', {
    expr: `crs_tls_certificate_expiry{${OURS}} - time() < 3 * 86400`,
    summary: 'The certificate of {{ $labels.service }} is about to expire',
    description:
      'The certificate in use at {{ $labels.instance }} expires in {{ $value | humanizeDuration }}. After that no other service talks to this one.',
  }),
  warning('CallResearchAuthorityExpiry', {
    expr: `min by (job, namespace) (crs_tls_authority_expiry{${OURS}}) - time() < 30 * 86400 and min by (job, namespace) (crs_tls_authority_expiry{${OURS}}) - time() >= 7 * 86400`,
    for: '10m',
    summary: "The authority of the services' certificates expires soon",
    description: 'The authority expires in {{ $value | humanizeDuration }}. Its replacement is overdue.',
  }),
  critical('CallResearchAuthorityExpiry', {
    expr: `min by (job, namespace) (crs_tls_authority_expiry{${OURS}}) - time() < 7 * 86400`,
    summary: "The authority of the services' certificates is about to expire",
    description: 'The authority expires in {{ $value | humanizeDuration }}. After that, no service talks to another.',
  }),
  warning('CallResearchJobFailed', {
    expr: `max by (namespace, job_name) (kube_job_failed{${ofKind('job_name')},condition="true"}) > 0`,
    for: '1m',
    summary: 'The Job {{ $labels.job_name }} failed',
    description:
      'Kubernetes has given up the Job {{ $labels.job_name }} of {{ $labels.namespace }}. The alert ends when the Job is deleted.',
  }),
  warning('CallResearchAutoscalerAtMaximum', {
    expr: `max by (namespace, horizontalpodautoscaler) (kube_horizontalpodautoscaler_status_desired_replicas{${ofKind('horizontalpodautoscaler')}})
>= max by (namespace, horizontalpodautoscaler) (kube_horizontalpodautoscaler_spec_max_replicas{${ofKind('horizontalpodautoscaler')}})`,
    for: '15m',
    summary: '{{ $labels.horizontalpodautoscaler }} can add no further pod',
    description:
      'The autoscaler {{ $labels.horizontalpodautoscaler }} has wanted all {{ $value }} pods that it may have for a quarter of an hour.',
  }),
];
