import { OF_SERVICE, dashboard, lines, quantile } from '../panels.ts';

/** The selectors of Jobs and of autoscalers. */
const JOBS = 'namespace=~"$namespace",job_name=~"$job-.+"';
const AUTOSCALERS = 'namespace=~"$namespace",horizontalpodautoscaler=~"$job-($service)"';
/** The selector of pods in the cluster's own metrics. A pod's name begins with the name of its Deployment. */
const PODS = 'namespace=~"$namespace",pod=~"$job-($service)-[0-9a-z]+-[0-9a-z]+"';

export const service = dashboard(
  'crs-service',
  'Service',
  'One service or several: calls to it, calls from it, waits, and the state of its processes.',
  [
    [
      'Calls to the service',
      [
        lines('Calls by method', 'reqps', 'RPCs that the service handled. Gateways serve only HTTP: see the overview.', [
          `sum by (service, rpc_method) (rate(rpc_server_call_duration_count{${OF_SERVICE}}[$__rate_interval]))`,
          '{{rpc_method}}',
        ]),
        lines(
          'Failed calls',
          'reqps',
          'By status. `unavailable`, `deadline_exceeded` and `internal` are faults. Others, such as `not_found`, are ordinary responses.',
          [
            `sum by (service, rpc_method, rpc_response_status_code) (rate(rpc_server_call_duration_count{${OF_SERVICE},rpc_response_status_code!="ok"}[$__rate_interval]))`,
            '{{rpc_method}} {{rpc_response_status_code}}',
          ],
        ),
        lines('95th percentile by method', 's', 'Time until the service responds.', [
          quantile(0.95, 'rpc_server_call_duration', OF_SERVICE, 'service, rpc_method'),
          '{{rpc_method}}',
        ]),
      ],
    ],
    [
      'Calls from the service',
      [
        lines('Calls to others', 'reqps', 'RPCs to other services, by status.', [
          `sum by (service, rpc_method, rpc_response_status_code) (rate(rpc_client_call_duration_count{${OF_SERVICE}}[$__rate_interval]))`,
          '{{service}} → {{rpc_method}} {{rpc_response_status_code}}',
        ]),
        lines('95th percentile of calls to others', 's', 'Time until the response arrives.', [
          quantile(0.95, 'rpc_client_call_duration', OF_SERVICE, 'service, rpc_method'),
          '{{service}} → {{rpc_method}}',
        ]),
        lines(
          'Breakers',
          'short',
          '1: calls are rejected immediately, because most recent ones failed. 0.5: one trial call is let through.',
          [`max by (service, target) (crs_breaker_open{${OF_SERVICE}})`, '{{service}} → {{target}}'],
        ),
      ],
    ],
    [
      'Waits',
      [
        lines(
          'Work by bulkhead',
          'short',
          'Slots in use, and tasks that wait for one. At the gateways, slots belong to organizations and unauthenticated clients; at a service, a slot is a database connection.',
          [
            `sum by (service, crs_bulkhead_name, crs_bulkhead_state) (crs_bulkhead_work{${OF_SERVICE}})`,
            '{{crs_bulkhead_name}} {{crs_bulkhead_state}}',
          ],
        ),
        lines('99th percentile of waits', 's', 'Only tasks that waited for a slot and got one.', [
          quantile(0.99, 'crs_bulkhead_wait_duration', OF_SERVICE, 'service, crs_bulkhead_name'),
          '{{crs_bulkhead_name}}',
        ]),
        lines('Shed', 'ops', 'Tasks that got no slot in time.', [
          `sum by (service, crs_bulkhead_name, crs_bulkhead_reason) (rate(crs_bulkhead_shed_total{${OF_SERVICE}}[$__rate_interval]))`,
          '{{crs_bulkhead_name}} {{crs_bulkhead_reason}}',
        ]),
      ],
    ],
    [
      'Processes',
      [
        lines('Event loop utilization', 'percentunit', '1: the process is saturated. Add pods before it reaches 0.7.', [
          `max by (service, instance) (nodejs_eventloop_utilization{${OF_SERVICE}})`,
          '{{service}} {{instance}}',
        ]),
        lines('Event loop delay', 's', '99th percentile of the delay of an iteration. Above 0.1 s, something blocks the loop.', [
          `max by (service, instance) (nodejs_eventloop_delay_p99{${OF_SERVICE}})`,
          '{{service}} {{instance}}',
        ]),
        lines(
          'Heap',
          'bytes',
          'Memory used by JavaScript, over all heap spaces. A sawtooth is normal; a rise over hours is a leak.',
          [`sum by (service, instance) (v8js_memory_heap_used{${OF_SERVICE}})`, '{{service}} {{instance}}'],
        ),
        lines('Garbage collection', 'percentunit', 'Share of time spent in garbage collection, by kind.', [
          `sum by (service, v8js_gc_type) (rate(v8js_gc_duration_sum{${OF_SERVICE}}[$__rate_interval]))`,
          '{{service}} {{v8js_gc_type}}',
        ]),
        lines('Ready', 'short', '1: the process receives traffic.', [
          `max by (service, instance) (crs_ready{${OF_SERVICE}})`,
          '{{service}} {{instance}}',
        ]),
        lines('Starts', 'short', 'Processes that ran at one address within 15 minutes. More than 1: the process was restarted.', [
          `count by (service, instance) (count by (service, instance, service_instance_id) (count_over_time(target_info{${OF_SERVICE}}[15m])))`,
          '{{service}} {{instance}}',
        ]),
        lines(
          'Certificates end in',
          's',
          'Time until the certificate in use, and its CA, expire. Empty without TLS.',
          [`min by (service) (crs_tls_certificate_expiry{${OF_SERVICE}}) - time()`, '{{service}}'],
          [`min by (job) (crs_tls_authority_expiry{${OF_SERVICE}}) - time()`, 'CA'],
        ),
        lines(
          'Refused operators',
          'ops',
          'Calls on the admin listener with an unknown credential or without the required permission.',
          [`sum by (service) (rate(crs_operator_refusals_total{${OF_SERVICE}}[$__rate_interval]))`, '{{service}}'],
        ),
      ],
    ],
    [
      'Webhooks',
      [
        lines('Attempts', 'ops', 'Messages sent to endpoints, by outcome. Failed ones are repeated.', [
          `sum by (outcome) (rate(crs_webhook_attempts_total{${OF_SERVICE}}[$__rate_interval]))`,
          '{{outcome}}',
        ]),
        lines(
          'Webhooks: since the last poll',
          's',
          'Time since a process last polled feeds and settings, and looked for due endpoints.',
          [`min by (task) (crs_webhook_idle_time{${OF_SERVICE}})`, '{{task}}'],
        ),
      ],
    ],
    [
      'Pods (metrics of cAdvisor and kube-state-metrics)',
      [
        lines('CPU', 'short', 'Cores.', [
          `sum by (pod) (rate(container_cpu_usage_seconds_total{${PODS},container!=""}[$__rate_interval]))`,
          '{{pod}}',
        ]),
        lines('Memory', 'bytes', 'Working set. The memory limit applies to it.', [
          `sum by (pod) (container_memory_working_set_bytes{${PODS},container!=""})`,
          '{{pod}}',
        ]),
        lines('Restarts', 'short', 'Restarts of containers since the pod was created.', [
          `sum by (pod) (kube_pod_container_status_restarts_total{${PODS}})`,
          '{{pod}}',
        ]),
        lines('Autoscaler: pods of its maximum', 'percentunit', '1: it cannot add more pods.', [
          `max by (horizontalpodautoscaler) (kube_horizontalpodautoscaler_status_current_replicas{${AUTOSCALERS}} / kube_horizontalpodautoscaler_spec_max_replicas{${AUTOSCALERS}})`,
          '{{horizontalpodautoscaler}}',
        ]),
        lines('Failed Jobs', 'short', 'Jobs that failed for good and have not been deleted.', [
          `sum by (job_name) (kube_job_failed{${JOBS},condition="true"})`,
          '{{job_name}}',
        ]),
      ],
    ],
  ],
  true,
);
