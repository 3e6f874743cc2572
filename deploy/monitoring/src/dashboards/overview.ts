import { CHOSEN, type Dashboard, type Panel } from '../panels.ts';

const GATEWAYS = `${CHOSEN},service=~"api-gateway|tool-gateway"`;

function budget(slo: string, objective: number, width: number): Panel {
  return {
    type: 'stat',
    title: `${slo}: error budget left`,
    description: `What is left of the bad events that 30 days may have (${Number(((1 - objective) * 100).toFixed(3))}% of all). Below 0 the promise is broken. Before 30 days have passed, it is of the time since the start.`,
    unit: 'percentunit',
    width,
    threshold: { value: 0, isGoodAbove: true },
    queries: [[`1 - crs:slo_errors:ratio_30d{${CHOSEN},slo="${slo}"} / ${Number((1 - objective).toFixed(6))}`, '{{service}}']],
  };
}

const share = (status: string) =>
  `sum by (service) (rate(http_server_request_duration_count{${GATEWAYS},http_response_status_code=~"${status}"}[$__rate_interval])) / sum by (service) (rate(http_server_request_duration_count{${GATEWAYS}}[$__rate_interval]))`;
const toolShare = (status: string) =>
  `sum by (service) (rate(crs_tool_call_duration_count{${CHOSEN},http_response_status_code=~"${status}"}[$__rate_interval])) / sum by (service) (rate(crs_tool_call_duration_count{${CHOSEN}}[$__rate_interval]))`;
const quantile = (q: number, metric: string, by: string, selector: string) =>
  `histogram_quantile(${q}, sum by (le, ${by}) (rate(${metric}_bucket{${selector}}[$__rate_interval])))`;

export const overview: Dashboard = {
  uid: 'crs-overview',
  title: 'Overview',
  description: 'What callers see: how much, how well, how fast; who is ready; what is left of the promises.',
  rows: [
    [
      'Promises',
      [
        budget('availability', 0.999, 6),
        budget('latency', 0.99, 6),
        budget('limiter-exactness', 0.999, 6),
        {
          type: 'stat',
          title: 'Processes ready',
          description: 'Processes that get traffic, of each service. 0 of a service is an outage of what it does.',
          unit: 'short',
          width: 6,
          threshold: { value: 1, isGoodAbove: true },
          queries: [[`sum by (service) (crs_ready{${CHOSEN}})`, '{{service}}']],
        },
        {
          type: 'timeseries',
          title: 'Budget burning',
          description:
            'How many times faster than allowed errors come, over the last hour: 1 uses up the budget of 30 days in 30 days, 14.4 in two. Availability and limiter exactness allow 0.1%, latency 1%.',
          unit: 'short',
          width: 24,
          queries: [
            [`crs:slo_errors:ratio_1h{${CHOSEN},slo=~"availability|limiter-exactness"} / 0.001`, '{{service}} {{slo}}'],
            [`crs:slo_errors:ratio_1h{${CHOSEN},slo="latency"} / 0.01`, '{{service}} {{slo}}'],
          ],
        },
      ],
    ],
    [
      'REST',
      [
        {
          type: 'timeseries',
          title: 'Requests by route',
          description: '`none` is what no route was found for, such as requests without a usable key.',
          unit: 'reqps',
          stacked: true,
          queries: [
            [
              `sum by (http_request_method, http_route) (rate(http_server_request_duration_count{${CHOSEN},service="api-gateway"}[$__rate_interval]))`,
              '{{http_request_method}} {{http_route}}',
            ],
          ],
        },
        {
          type: 'timeseries',
          title: 'Requests by status',
          description:
            '429 is a limit, 503 too much at once or a service that is away, 504 one that is slow, 500 a fault of ours.',
          unit: 'reqps',
          stacked: true,
          queries: [
            [
              `sum by (http_response_status_code) (rate(http_server_request_duration_count{${CHOSEN},service="api-gateway"}[$__rate_interval]))`,
              '{{http_response_status_code}}',
            ],
          ],
        },
        {
          type: 'timeseries',
          title: '95th percentile by route',
          description: 'Time to answer, from the first byte of the request until the answer has left.',
          unit: 's',
          queries: [
            [
              quantile(
                0.95,
                'http_server_request_duration',
                'http_request_method, http_route',
                `${CHOSEN},service="api-gateway"`,
              ),
              '{{http_request_method}} {{http_route}}',
            ],
          ],
        },
      ],
    ],
    [
      'Tools and sign-in',
      [
        {
          type: 'timeseries',
          title: 'Calls of tools',
          description: 'By tool and by the status that REST would have answered with: the answer itself is an HTTP 200.',
          unit: 'reqps',
          stacked: true,
          queries: [
            [
              `sum by (crs_tool_name, http_response_status_code) (rate(crs_tool_call_duration_count{${CHOSEN}}[$__rate_interval]))`,
              '{{crs_tool_name}} {{http_response_status_code}}',
            ],
          ],
        },
        {
          type: 'timeseries',
          title: 'Requests by route and status',
          description: 'Of the tool gateway: `/mcp`, metadata and sign-in.',
          unit: 'reqps',
          stacked: true,
          queries: [
            [
              `sum by (http_route, http_response_status_code) (rate(http_server_request_duration_count{${CHOSEN},service="tool-gateway"}[$__rate_interval]))`,
              '{{http_route}} {{http_response_status_code}}',
            ],
          ],
        },
        {
          type: 'timeseries',
          title: '95th percentile by tool',
          description: 'Time that a tool took.',
          unit: 's',
          queries: [[quantile(0.95, 'crs_tool_call_duration', 'crs_tool_name', CHOSEN), '{{crs_tool_name}}']],
        },
      ],
    ],
    [
      'Refused',
      [
        {
          type: 'timeseries',
          title: 'Share of 429',
          description: 'Refused by a limit: the caller asks too often.',
          unit: 'percentunit',
          queries: [
            [share('429'), '{{service}}'],
            [toolShare('429'), 'tools'],
          ],
        },
        {
          type: 'timeseries',
          title: 'Share of 503 and 504',
          description: 'Refused since there is too much, or since a service or PostgreSQL is away or slow.',
          unit: 'percentunit',
          queries: [
            [share('50[34]'), '{{service}}'],
            [toolShare('50[34]'), 'tools'],
          ],
        },
        {
          type: 'timeseries',
          title: 'Shed by',
          description:
            'Work that got no slot in time, by what it waited for: slots of tenants at the gateways, connections at a service.',
          unit: 'ops',
          queries: [
            [
              `sum by (service, crs_bulkhead_name, crs_bulkhead_reason) (rate(crs_bulkhead_shed_total{${CHOSEN}}[$__rate_interval]))`,
              '{{service}} {{crs_bulkhead_name}} {{crs_bulkhead_reason}}',
            ],
          ],
        },
      ],
    ],
  ],
};
