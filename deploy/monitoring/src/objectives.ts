/** What is promised over 30 days, and how it is measured: events of the last five minutes, and the bad ones among them. */
export interface Objective {
  /** In the label `slo`. */
  slo: string;
  /** Share of good events. */
  objective: number;
  /** Rate of all events, by job, namespace and service. */
  all: string;
  bad: string;
}

/** What belongs to one installation. The chart puts its own name and namespace here. */
export const OURS = 'job="call-research"';

const BY = 'sum by (job, namespace, service)';
const GATEWAYS = `${OURS},service=~"api-gateway|tool-gateway"`;
/** Lists and details; creations and documents have their own pace. */
const READS = `${OURS},http_request_method="GET",http_route=~"/v1/(calls|projects|billing-offices).*",http_response_status_code=~"2.."`;
const TOOLS = `${OURS},http_response_status_code=~"2.."`;
/** Prometheus 3 writes whole numbers with a fraction. */
const WITHIN_A_SECOND = 'le=~"1(\\\\.0)?"';

export const OBJECTIVES: Objective[] = [
  {
    slo: 'availability',
    objective: 0.999,
    all: `${BY} (rate(http_server_request_duration_count{${GATEWAYS}}[5m]))`,
    // What a tool refuses is an HTTP 200, so tools have a count of their own; a request is in one of them at most.
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
  {
    slo: 'limiter-exactness',
    objective: 0.999,
    all: `${BY} (rate(crs_ratelimit_decisions_total{${OURS}}[5m]))`,
    bad: `${BY} (rate(crs_ratelimit_decisions_total{${OURS},source="fallback"}[5m]))`,
  },
];

/** Over which times the share of bad events is recorded. */
export const WINDOWS = ['5m', '30m', '1h', '2h', '6h', '1d', '3d', '30d'] as const;
export type Window = (typeof WINDOWS)[number];

/**
 * Which share of the month's budget must be gone how quickly: `factor` times the rate that would just use it up, over a long window, and
 * still now, over a short one.
 */
export const BURNS: { severity: 'critical' | 'warning'; factor: number; long: Window; short: Window }[] = [
  { severity: 'critical', factor: 14.4, long: '1h', short: '5m' },
  { severity: 'critical', factor: 6, long: '6h', short: '30m' },
  { severity: 'warning', factor: 3, long: '1d', short: '2h' },
  { severity: 'warning', factor: 1, long: '3d', short: '6h' },
];
