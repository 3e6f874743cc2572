import { CHOSEN, dashboard, lines, quantile, stacked, stat } from '../panels.ts';

const API = `${CHOSEN},service="api-gateway"`;
const TOOLS = `${CHOSEN},service="tool-gateway"`;
const GATEWAYS = `${CHOSEN},service=~"api-gateway|tool-gateway"`;

const percent = (share: number) => `${Number((share * 100).toFixed(3))}%`;
const budget = (slo: string, objective: number) =>
  stat(
    `${slo}: error budget left`,
    'percentunit',
    `The remaining share of the error budget (bad events may be ${percent(1 - objective)} of all events of 30 days). Below 0 the objective is missed. An installation younger than 30 days is measured since its start.`,
    0,
    [`1 - crs:slo_errors:ratio_30d{${CHOSEN},slo="${slo}"} / ${Number((1 - objective).toFixed(6))}`, '{{service}}'],
  );

const share = (metric: string, selector: string, status: string) =>
  `sum by (service) (rate(${metric}{${selector},http_response_status_code=~"${status}"}[$__rate_interval])) / sum by (service) (rate(${metric}{${selector}}[$__rate_interval]))`;
const shares = (status: string) =>
  [
    [share('http_server_request_duration_count', GATEWAYS, status), '{{service}}'],
    [share('crs_tool_call_duration_count', CHOSEN, status), 'tools'],
  ] as const;

export const overview = dashboard(
  'crs-overview',
  'Overview',
  'The service as its callers see it: requests, failures, latency, ready processes, error budgets.',
  [
    [
      'Promises',
      [
        budget('availability', 0.999),
        budget('latency', 0.99),
        stat('Processes ready', 'short', 'Processes of each service that get traffic. A service with 0 is down.', 1, [
          `sum by (service) (crs_ready{${CHOSEN}})`,
          '{{service}}',
        ]),
        lines(
          'Budget burning',
          'short',
          'The error rate of the last hour as a multiple of the allowed rate. At 1 the budget of 30 days lasts 30 days, at 14.4 two days. Availability allows 0.1% of bad events, latency 1%.',
          [`crs:slo_errors:ratio_1h{${CHOSEN},slo="availability"} / 0.001`, '{{service}} {{slo}}'],
          [`crs:slo_errors:ratio_1h{${CHOSEN},slo="latency"} / 0.01`, '{{service}} {{slo}}'],
        ).span(24),
      ],
    ],
    [
      'REST',
      [
        stacked(
          'Requests by route',
          'reqps',
          'The route `none` stands for requests that matched no route, among them requests without a valid key.',
          [
            `sum by (http_request_method, http_route) (rate(http_server_request_duration_count{${API}}[$__rate_interval]))`,
            '{{http_request_method}} {{http_route}}',
          ],
        ),
        stacked(
          'Requests by status',
          'reqps',
          '429: a rate limit. 503: too many requests at once, or a service is down. 504: a service is slow. 500: a bug.',
          [
            `sum by (http_response_status_code) (rate(http_server_request_duration_count{${API}}[$__rate_interval]))`,
            '{{http_response_status_code}}',
          ],
        ),
        lines('95th percentile by route', 's', 'Time from the first byte of the request to the last byte of the response.', [
          quantile(0.95, 'http_server_request_duration', API, 'http_request_method, http_route'),
          '{{http_request_method}} {{http_route}}',
        ]),
      ],
    ],
    [
      'Tools and sign-in',
      [
        stacked(
          'Tool calls',
          'reqps',
          'By tool, and by the status that the REST API would have returned. The HTTP status of a tool call itself is 200.',
          [
            `sum by (crs_tool_name, http_response_status_code) (rate(crs_tool_call_duration_count{${CHOSEN}}[$__rate_interval]))`,
            '{{crs_tool_name}} {{http_response_status_code}}',
          ],
        ),
        stacked('Requests by route and status', 'reqps', 'Requests to the tool gateway: `/mcp`, metadata and sign-in.', [
          `sum by (http_route, http_response_status_code) (rate(http_server_request_duration_count{${TOOLS}}[$__rate_interval]))`,
          '{{http_route}} {{http_response_status_code}}',
        ]),
        lines('95th percentile by tool', 's', 'Time that a tool took.', [
          quantile(0.95, 'crs_tool_call_duration', CHOSEN, 'crs_tool_name'),
          '{{crs_tool_name}}',
        ]),
      ],
    ],
    [
      'Refused',
      [
        lines('Share of 429', 'percentunit', 'Requests above a rate limit: the caller sends too many.', ...shares('429')),
        lines(
          'Share of 503 and 504',
          'percentunit',
          'Requests refused because there were too many at once, or because a service or PostgreSQL is down or slow.',
          ...shares('50[34]'),
        ),
        lines(
          'Shed by',
          'ops',
          'Work that got no slot in time, by the bulkhead: slots of tenants at the gateways, connections at a service.',
          [
            `sum by (service, crs_bulkhead_name, crs_bulkhead_reason) (rate(crs_bulkhead_shed_total{${CHOSEN}}[$__rate_interval]))`,
            '{{service}} {{crs_bulkhead_name}} {{crs_bulkhead_reason}}',
          ],
        ),
      ],
    ],
  ],
);
