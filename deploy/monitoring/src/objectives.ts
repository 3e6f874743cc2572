/** A service level objective (SLO) over 30 days, and the five-minute rates that measure it. */
export interface Objective {
  /** Value of the label `slo`. */
  slo: string;
  /** Target share of good events. */
  objective: number;
  /** Expression: rate of all events, by job, namespace and service. */
  all: string;
  /** Expression: rate of bad events, by the same labels. */
  bad: string;
}

/** The selector of one installation. The chart replaces it by one with the release's name and namespace. */
export const OURS = 'job="call-research"';

/** The selector of one installation's objects in the metrics of kube-state-metrics. The chart replaces both patterns by the release's. */
export const ofKind = (label: string) => `namespace=~".+",${label}=~"call-research-.+"`;

const BY = 'sum by (job, namespace, service)';
const GATEWAYS = `${OURS},service=~"api-gateway|tool-gateway"`;
/** Only lists and details: creating a project, and the API's documents, may take longer. */
const READS = `${OURS},http_request_method="GET",http_route=~"/v1/(calls|projects|billing-offices).*",http_response_status_code=~"2.."`;
const TOOLS = `${OURS},http_response_status_code=~"2.."`;
/** Prometheus 3 writes the bucket `1` as `1.0`. */
const WITHIN_A_SECOND = 'le=~"1(\\\\.0)?"';

export const OBJECTIVES: Objective[] = [
  {
    slo: 'availability',
    objective: 0.999,
    all: `${BY} (rate(http_server_request_duration_count{${GATEWAYS}}[5m]))`,
    // A failed tool call is an HTTP 200, so the second rate counts it. No request is counted twice.
    bad: `${BY} (
  rate(http_server_request_duration_count{${GATEWAYS},http_response_status_code=~"5.."}[5m])
  or rate(crs_tool_call_duration_count{${OURS},http_response_status_code=~"5.."}[5m])
)`,
  },
  {
    slo: 'latency',
    objective: 0.99,
    all: `${BY} (
  rate(http_server_request_duration_count{${READS}}[5m])
  or rate(crs_tool_call_duration_count{${TOOLS}}[5m])
)`,
    bad: `${BY} (
  rate(http_server_request_duration_count{${READS}}[5m])
  or rate(crs_tool_call_duration_count{${TOOLS}}[5m])
)
- ${BY} (
  rate(http_server_request_duration_bucket{${READS},${WITHIN_A_SECOND}}[5m])
  or rate(crs_tool_call_duration_bucket{${TOOLS},${WITHIN_A_SECOND}}[5m])
)`,
  },
];

/** Windows over which the ratio of bad events is recorded. */
export const WINDOWS = ['5m', '30m', '1h', '2h', '6h', '1d', '3d', '30d'] as const;
export type RateWindow = (typeof WINDOWS)[number];

/**
 * Multi-window burn rates. A factor of 1 uses up the error budget in exactly 30 days. An alert requires that the rate exceeds `factor` over both
 * windows: the long one makes the errors significant, and the short one ends the alert soon after the errors stop.
 */
export const BURNS: { severity: 'critical' | 'warning'; factor: number; long: RateWindow; short: RateWindow }[] = [
  { severity: 'critical', factor: 14.4, long: '1h', short: '5m' },
  { severity: 'critical', factor: 6, long: '6h', short: '30m' },
  { severity: 'warning', factor: 3, long: '1d', short: '2h' },
  { severity: 'warning', factor: 1, long: '3d', short: '6h' },
];
