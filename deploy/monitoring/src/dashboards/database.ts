import { OF_SERVICE, type Dashboard, type Panel } from '../panels.ts';

const POSTGRES = `${OF_SERVICE},db_system_name="postgresql"`;
const DATABASE = `${OF_SERVICE},crs_bulkhead_name=~".+-database"`;
const lines = (title: string, unit: string, description: string, ...queries: [string, string][]): Panel => ({
  type: 'timeseries',
  title,
  unit,
  description,
  width: 12,
  queries,
});

export const database: Dashboard = {
  uid: 'crs-database',
  title: 'Database',
  description: 'PostgreSQL as the services see it: statements by name, connections, errors.',
  hasService: true,
  rows: [
    [
      'Statements',
      [
        lines('Busiest statements', 'ops', 'By name; names are those of the source (`src/store`).', [
          `topk(15, sum by (service, db_query_summary) (rate(db_client_operation_duration_count{${POSTGRES}}[$__rate_interval])))`,
          '{{service}} {{db_query_summary}}',
        ]),
        lines('Where the time goes', 'percentunit', 'Seconds of statements a second.', [
          `topk(15, sum by (service, db_query_summary) (rate(db_client_operation_duration_sum{${POSTGRES}}[$__rate_interval])))`,
          '{{service}} {{db_query_summary}}',
        ]),
        lines('95th percentile by statement', 's', 'Time until it was answered.', [
          `topk(15, histogram_quantile(0.95, sum by (le, service, db_query_summary) (rate(db_client_operation_duration_bucket{${POSTGRES}}[$__rate_interval]))))`,
          '{{service}} {{db_query_summary}}',
        ]),
        lines(
          'Errors',
          'ops',
          "By PostgreSQL's code: 57014 too slow for its caller, 57P.. stopping, 53.. full, 08.. and E... the network, 23.. a conflict of data. `connect`: no connection could be made.",
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
        lines('Connections by pool', 'short', 'Used, idle, and work that waits for one to be opened.', [
          `sum by (db_client_connection_pool_name, db_client_connection_state) (db_client_connection_count{${OF_SERVICE}})`,
          '{{db_client_connection_pool_name}} {{db_client_connection_state}}',
        ]),
        lines('Work at the pools', 'short', 'Work that has a connection, and work that waits in the lines of its organization.', [
          `sum by (crs_bulkhead_name, crs_bulkhead_state) (crs_bulkhead_work{${DATABASE}})`,
          '{{crs_bulkhead_name}} {{crs_bulkhead_state}}',
        ]),
        lines('99th percentile of waits', 's', 'Of work that had to wait for a connection and got it.', [
          `histogram_quantile(0.99, sum by (le, crs_bulkhead_name) (rate(crs_bulkhead_wait_duration_bucket{${DATABASE}}[$__rate_interval])))`,
          '{{crs_bulkhead_name}}',
        ]),
        lines('Shed', 'ops', 'Work that got no connection in time.', [
          `sum by (crs_bulkhead_name, crs_bulkhead_reason) (rate(crs_bulkhead_shed_total{${DATABASE}}[$__rate_interval]))`,
          '{{crs_bulkhead_name}} {{crs_bulkhead_reason}}',
        ]),
      ],
    ],
  ],
};
