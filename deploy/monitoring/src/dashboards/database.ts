import { OF_SERVICE, dashboard, quantile, wide } from '../panels.ts';

const POSTGRES = `${OF_SERVICE},db_system_name="postgresql"`;
const BULKHEADS = `${OF_SERVICE},crs_bulkhead_name=~".+-database"`;

export const database = dashboard(
  'crs-database',
  'Database',
  'PostgreSQL as the services see it: statements by name, connections, errors.',
  [
    [
      'Statements',
      [
        wide('Busiest statements', 'ops', 'Statements by the name that they have in the source (`src/store`).', [
          `topk(15, sum by (service, db_query_summary) (rate(db_client_operation_duration_count{${POSTGRES}}[$__rate_interval])))`,
          '{{service}} {{db_query_summary}}',
        ]),
        wide('Where the time goes', 'percentunit', 'Time spent in each statement per second, over all its executions.', [
          `topk(15, sum by (service, db_query_summary) (rate(db_client_operation_duration_sum{${POSTGRES}}[$__rate_interval])))`,
          '{{service}} {{db_query_summary}}',
        ]),
        wide('95th percentile by statement', 's', 'Time until PostgreSQL responds.', [
          `topk(15, ${quantile(0.95, 'db_client_operation_duration', POSTGRES, 'service, db_query_summary')})`,
          '{{service}} {{db_query_summary}}',
        ]),
        wide(
          'Errors',
          'ops',
          "By PostgreSQL's code. 57014: slower than its deadline. 57P..: the server is stopping. 53..: the server is full. 08.. and E...: the network. 23..: conflicting data. The statement `connect` stands for connections that could not be opened.",
          [
            `sum by (service, db_query_summary, error_type) (rate(db_client_operation_duration_count{${POSTGRES},error_type!=""}[$__rate_interval]))`,
            '{{service}} {{db_query_summary}} {{error_type}}',
          ],
        ),
      ],
    ],
    [
      'Connections',
      [
        wide('Connections by pool', 'short', 'Connections in use, idle connections, and tasks that wait for a new one.', [
          `sum by (db_client_connection_pool_name, db_client_connection_state) (db_client_connection_count{${OF_SERVICE}})`,
          '{{db_client_connection_pool_name}} {{db_client_connection_state}}',
        ]),
        wide(
          'Work at the pools',
          'short',
          'Tasks that have a connection, and tasks that wait in the queue of their organization.',
          [
            `sum by (crs_bulkhead_name, crs_bulkhead_state) (crs_bulkhead_work{${BULKHEADS}})`,
            '{{crs_bulkhead_name}} {{crs_bulkhead_state}}',
          ],
        ),
        wide('99th percentile of waits', 's', 'Only tasks that waited for a connection and got one.', [
          quantile(0.99, 'crs_bulkhead_wait_duration', BULKHEADS, 'crs_bulkhead_name'),
          '{{crs_bulkhead_name}}',
        ]),
        wide('Shed', 'ops', 'Tasks that got no connection in time.', [
          `sum by (crs_bulkhead_name, crs_bulkhead_reason) (rate(crs_bulkhead_shed_total{${BULKHEADS}}[$__rate_interval]))`,
          '{{crs_bulkhead_name}} {{crs_bulkhead_reason}}',
        ]),
      ],
    ],
  ],
  true,
);
