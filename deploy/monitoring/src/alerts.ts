import { OURS, ofKind } from './objectives.ts';

export interface Alert {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: 'critical' | 'warning' };
  annotations: { summary: string; description: string };
}

const SERVICES = ['api-gateway', 'tool-gateway', 'auth', 'calls', 'projects', 'entities', 'rate-limit'];

/** Error codes that mean PostgreSQL is unavailable: down, full, stopping, refusing the password, or unreachable. A failed statement has other codes. */
const UNAVAILABLE = '08...|28...|53...|57P..|E[A-Z]+|disconnected';

const RETENTION = 'namespace=~".+",cronjob=~"call-research-retention"';

const FEED_LOCK_TIMEOUTS = `db_client_operation_duration_count{${OURS},db_query_summary="take_places",error_type=~"55P03|57014"}`;

/** An alert without its name and severity. `for` prevents alerts for restarts and single missed scrapes. */
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

/** All alerts except those on error budgets. */
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
    summary: '{{ $labels.service }} serves no requests',
    description:
      'All requests to {{ $labels.service }} fail, or none has arrived for half an hour although there was regular traffic before.',
  }),
  critical('CallResearchServiceGone', {
    // `absent` returns only the labels of equality matchers, so each service needs its own.
    expr: [
      `max by (job, namespace, service) (up{${OURS}}) == 0`,
      ...SERVICES.map((service) => `absent(up{${OURS},service="${service}"})`),
    ].join('\nor '),
    for: '2m',
    summary: '{{ $labels.service }} has no reachable process',
    description: 'Prometheus could not scrape any process of {{ $labels.service }} for two minutes.',
  }),
  warning('CallResearchScrapeGone', {
    expr: `up{${OURS}} == 0`,
    for: '5m',
    summary: 'The metrics of {{ $labels.service }} at {{ $labels.instance }} cannot be scraped',
    description: 'Prometheus could not scrape the process of {{ $labels.service }} at {{ $labels.instance }} for five minutes.',
  }),
  warning('CallResearchNotReady', {
    expr: `crs_ready{${OURS}} == 0`,
    for: '5m',
    summary: '{{ $labels.service }} at {{ $labels.instance }} is not ready',
    description:
      'The process at {{ $labels.instance }} has not been ready for five minutes: it is starting, waiting for the schema of its database, or stopping.',
  }),
  warning('CallResearchRestarting', {
    expr: `count by (job, namespace, service, instance) (count by (job, namespace, service, instance, service_instance_id) (count_over_time(target_info{${OURS}}[15m]))) > 3`,
    summary: '{{ $labels.service }} at {{ $labels.instance }} keeps restarting',
    description: '{{ $labels.service }} at {{ $labels.instance }} was started {{ $value }} times within 15 minutes.',
  }),
  critical('CallResearchDatabaseAway', {
    expr: `sum by (job, namespace, service) (rate(db_client_operation_duration_count{${OURS},db_system_name="postgresql",error_type=~"${UNAVAILABLE}"}[2m])) > 0`,
    for: '1m',
    summary: '{{ $labels.service }} cannot reach PostgreSQL',
    description:
      '{{ $value | humanize }} connections or statements of {{ $labels.service }} fail each second because PostgreSQL does not answer, refuses connections or is stopping.',
  }),
  warning('CallResearchFeedHeld', {
    // `increase` misses the first error, which creates the series, so the second expression covers it.
    expr: `sum by (job, namespace, service) (increase(${FEED_LOCK_TIMEOUTS}[10m])) > 0
or sum by (job, namespace, service) (${FEED_LOCK_TIMEOUTS} unless ${FEED_LOCK_TIMEOUTS} offset 10m) > 0`,
    summary: 'A transaction locks the change feed of an organization',
    description:
      '{{ $value | humanize }} imports or deletions of {{ $labels.service }} timed out within ten minutes while waiting for the lock of the feed.',
  }),
  warning('CallResearchDatabasePoolExhausted', {
    expr: `avg_over_time(crs_bulkhead_work{${OURS},crs_bulkhead_name=~".+-database",crs_bulkhead_state="waiting"}[5m]) > 1`,
    for: '5m',
    summary: 'Statements of {{ $labels.service }} wait for a connection',
    description:
      '{{ $value | humanize }} tasks wait for connections ({{ $labels.crs_bulkhead_name }}) at {{ $labels.instance }}, on average over five minutes.',
  }),
  warning('CallResearchBreakerOpen', {
    expr: `max by (job, namespace, service, target) (max_over_time(crs_breaker_open{${OURS}}[1m])) > 0`,
    for: '1m',
    summary: '{{ $labels.service }} rejects calls to {{ $labels.target }}',
    description:
      'Most calls from {{ $labels.service }} to {{ $labels.target }} failed, so its circuit breaker rejects further calls immediately.',
  }),
  warning('CallResearchShedding', {
    expr: `sum by (job, namespace, service, crs_bulkhead_name) (rate(crs_bulkhead_shed_total{${OURS}}[5m])) > 0.2`,
    for: '2m',
    summary: '{{ $labels.service }} is overloaded and sheds work',
    description:
      '{{ $value | humanize }} requests or statements a second get no slot of {{ $labels.crs_bulkhead_name }} in time and end with 503.',
  }),
  warning('CallResearchLimiterFallback', {
    expr: `sum by (job, namespace, service) (rate(crs_ratelimit_decisions_total{${OURS},source="fallback"}[2m])) > 0`,
    for: '2m',
    summary: '{{ $labels.service }} counts requests locally',
    description:
      'rate-limit does not respond to {{ $labels.service }}, so each gateway process counts locally and admits up to the full limit.',
  }),
  warning('CallResearchRedisAway', {
    expr: `crs_redis_connected{${OURS}} == 0`,
    for: '1m',
    summary: 'rate-limit at {{ $labels.instance }} has no connection to Redis',
    description:
      'rate-limit at {{ $labels.instance }} has had no connection to Redis for a minute. Gateways count requests locally.',
  }),
  warning('CallResearchEventLoopBlocked', {
    expr: `nodejs_eventloop_delay_p99{${OURS}} > 0.5`,
    for: '5m',
    summary: 'The event loop of {{ $labels.service }} at {{ $labels.instance }} is blocked',
    description:
      'One in a hundred iterations of the event loop at {{ $labels.instance }} is delayed by more than {{ $value | humanizeDuration }}.',
  }),
  warning('CallResearchImportRefusals', {
    expr: `sum by (job, namespace, service) (increase(crs_import_lines_total{${OURS},outcome="refused"}[30m]))
> 0.01 * sum by (job, namespace, service) (increase(crs_import_lines_total{${OURS}}[30m]))`,
    summary: '{{ $labels.service }} refuses records of an import',
    description: '{{ $value | humanize }} records, more than one in a hundred, were refused within half an hour.',
  }),
  warning('CallResearchOperatorRefusals', {
    expr: `sum by (job, namespace, service) (increase(crs_operator_refusals_total{${OURS}}[10m])) > 5`,
    summary: '{{ $labels.service }} repeatedly refuses an operator',
    description:
      '{{ $value | humanize }} calls on the admin listener of {{ $labels.service }} were refused within ten minutes: unknown or revoked credentials, or missing permissions.',
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
      'The certificate in use at {{ $labels.instance }} expires in {{ $value | humanizeDuration }}. After that, other services cannot connect to this one.',
  }),
  warning('CallResearchAuthorityExpiry', {
    expr: `min by (job, namespace) (crs_tls_authority_expiry{${OURS}}) - time() < 30 * 86400 and min by (job, namespace) (crs_tls_authority_expiry{${OURS}}) - time() >= 7 * 86400`,
    for: '10m',
    summary: "The CA of the services' certificates expires soon",
    description: 'The CA expires in {{ $value | humanizeDuration }}. Its replacement is overdue.',
  }),
  critical('CallResearchAuthorityExpiry', {
    expr: `min by (job, namespace) (crs_tls_authority_expiry{${OURS}}) - time() < 7 * 86400`,
    summary: "The CA of the services' certificates is about to expire",
    description: 'The CA expires in {{ $value | humanizeDuration }}. After that, services cannot connect to each other.',
  }),
  warning('CallResearchWebhooksStalled', {
    // The replicas share the work.
    expr: `min by (job, namespace, task) (crs_webhook_idle_time{${OURS}}) > 120`,
    for: '2m',
    summary: 'Webhooks are not sent',
    description: 'No process of webhooks has done its task {{ $labels.task }} for {{ $value | humanizeDuration }}.',
  }),
  warning('CallResearchJobFailed', {
    expr: `max by (namespace, job_name) (kube_job_failed{${ofKind('job_name')},condition="true"}) > 0`,
    for: '1m',
    summary: 'The Job {{ $labels.job_name }} failed',
    description:
      'Kubernetes has given up the Job {{ $labels.job_name }} of {{ $labels.namespace }}. The alert ends when the Job is deleted.',
  }),
  warning('CallResearchRetentionOverdue', {
    // A CronJob that has not succeeded yet counts from its creation.
    expr: `time() - max by (namespace, cronjob) (
  kube_cronjob_status_last_successful_time{${RETENTION}} or kube_cronjob_created{${RETENTION}}
) > 26 * 3600`,
    for: '10m',
    summary: 'Old calls have not been deleted for more than a day',
    description:
      'The last run of {{ $labels.cronjob }} that succeeded began {{ $value | humanizeDuration }} ago. Organizations keep calls for longer than they set.',
  }),
  warning('CallResearchAutoscalerAtMaximum', {
    expr: `max by (namespace, horizontalpodautoscaler) (kube_horizontalpodautoscaler_status_desired_replicas{${ofKind('horizontalpodautoscaler')}})
>= max by (namespace, horizontalpodautoscaler) (kube_horizontalpodautoscaler_spec_max_replicas{${ofKind('horizontalpodautoscaler')}})`,
    for: '15m',
    summary: '{{ $labels.horizontalpodautoscaler }} cannot add more pods',
    description:
      'The autoscaler {{ $labels.horizontalpodautoscaler }} has requested its maximum of {{ $value }} pods for a quarter of an hour.',
  }),
];
