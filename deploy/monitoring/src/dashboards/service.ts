import { OF_SERVICE, type Dashboard, type Panel } from '../panels.ts';

const quantile = (q: number, metric: string, by: string) =>
  `histogram_quantile(${q}, sum by (le, ${by}) (rate(${metric}_bucket{${OF_SERVICE}}[$__rate_interval])))`;

const lines = (title: string, unit: string, description: string, ...queries: [string, string][]): Panel => ({
  type: 'timeseries',
  title,
  unit,
  description,
  queries,
});

/** By the cluster's own metrics, which belong to pods: those of a Deployment are called after it. */
const PODS = 'namespace=~"$namespace",pod=~"$job-($service)-[0-9a-z]+-[0-9a-z]+"';

export const service: Dashboard = {
  uid: 'crs-service',
  title: 'Service',
  description: 'One service, or several: what it is asked, whom it asks, what it waits for, how its processes are.',
  hasService: true,
  rows: [
    [
      'Asked',
      [
        lines('Calls by method', 'reqps', 'RPCs that were answered. Gateways have none: see the overview.', [
          `sum by (service, rpc_method) (rate(rpc_server_call_duration_count{${OF_SERVICE}}[$__rate_interval]))`,
          '{{rpc_method}}',
        ]),
        lines(
          'Calls that failed',
          'reqps',
          'By how: `not_found` and the like are answers, `unavailable`, `deadline_exceeded` and `internal` are not.',
          [
            `sum by (service, rpc_method, rpc_response_status_code) (rate(rpc_server_call_duration_count{${OF_SERVICE},rpc_response_status_code!="ok"}[$__rate_interval]))`,
            '{{rpc_method}} {{rpc_response_status_code}}',
          ],
        ),
        lines('95th percentile by method', 's', 'Time to answer.', [
          quantile(0.95, 'rpc_server_call_duration', 'service, rpc_method'),
          '{{rpc_method}}',
        ]),
      ],
    ],
    [
      'Asks',
      [
        lines('Calls to others', 'reqps', 'RPCs to other services, by how they ended.', [
          `sum by (service, rpc_method, rpc_response_status_code) (rate(rpc_client_call_duration_count{${OF_SERVICE}}[$__rate_interval]))`,
          '{{service}} → {{rpc_method}} {{rpc_response_status_code}}',
        ]),
        lines('95th percentile of calls to others', 's', 'Time until they were answered.', [
          quantile(0.95, 'rpc_client_call_duration', 'service, rpc_method'),
          '{{service}} → {{rpc_method}}',
        ]),
        lines('Breakers', 'short', '1: calls are refused at once, since most failed. 0.5: one is let through as a trial.', [
          `max by (service, target) (crs_breaker_open{${OF_SERVICE}})`,
          '{{service}} → {{target}}',
        ]),
      ],
    ],
    [
      'Waits',
      [
        lines(
          'Work by bulkhead',
          'short',
          'Slots held and waited for: of tenants and strangers at the gateways, of connections at a service.',
          [
            `sum by (service, crs_bulkhead_name, crs_bulkhead_state) (crs_bulkhead_work{${OF_SERVICE}})`,
            '{{crs_bulkhead_name}} {{crs_bulkhead_state}}',
          ],
        ),
        lines('99th percentile of waits', 's', 'Of work that had to wait and got its slot.', [
          quantile(0.99, 'crs_bulkhead_wait_duration', 'service, crs_bulkhead_name'),
          '{{crs_bulkhead_name}}',
        ]),
        lines('Shed', 'ops', 'Work that got no slot in time.', [
          `sum by (service, crs_bulkhead_name, crs_bulkhead_reason) (rate(crs_bulkhead_shed_total{${OF_SERVICE}}[$__rate_interval]))`,
          '{{crs_bulkhead_name}} {{crs_bulkhead_reason}}',
        ]),
      ],
    ],
    [
      'Processes',
      [
        lines('Event loop utilization', 'percentunit', '1: the process has no time left. Scale before 0.7.', [
          `max by (service, instance) (nodejs_eventloop_utilization{${OF_SERVICE}})`,
          '{{service}} {{instance}}',
        ]),
        lines('Event loop delay', 's', '99th percentile of how late turns are. Above 0.1 s something blocks it.', [
          `max by (service, instance) (nodejs_eventloop_delay_p99{${OF_SERVICE}})`,
          '{{service}} {{instance}}',
        ]),
        lines('Heap', 'bytes', 'Used by JavaScript, all spaces together. A sawtooth is normal, a rise over hours is not.', [
          `sum by (service, instance) (v8js_memory_heap_used{${OF_SERVICE}})`,
          '{{service}} {{instance}}',
        ]),
        lines('Garbage collection', 'percentunit', 'Share of the time, by kind.', [
          `sum by (service, v8js_gc_type) (rate(v8js_gc_duration_sum{${OF_SERVICE}}[$__rate_interval]))`,
          '{{service}} {{v8js_gc_type}}',
        ]),
        lines('Ready', 'short', '1: the process gets traffic.', [
          `max by (service, instance) (crs_ready{${OF_SERVICE}})`,
          '{{service}} {{instance}}',
        ]),
        lines('Starts', 'short', 'Processes that ran at an address within 15 minutes. More than 1: it was started again.', [
          `count by (service, instance) (count by (service, instance, service_instance_id) (count_over_time(target_info{${OF_SERVICE}}[15m])))`,
          '{{service}} {{instance}}',
        ]),
      ],
    ],
    [
      'Pods (metrics of cAdvisor and kube-state-metrics)',
      [
        lines('CPU', 'short', 'Cores.', [
          `sum by (pod) (rate(container_cpu_usage_seconds_total{${PODS},container!=""}[$__rate_interval]))`,
          '{{pod}}',
        ]),
        lines('Memory', 'bytes', 'Working set, which the limit is about.', [
          `sum by (pod) (container_memory_working_set_bytes{${PODS},container!=""})`,
          '{{pod}}',
        ]),
        lines('Restarts', 'short', 'Of containers, since the pod was made.', [
          `sum by (pod) (kube_pod_container_status_restarts_total{${PODS}})`,
          '{{pod}}',
        ]),
      ],
    ],
  ],
};
