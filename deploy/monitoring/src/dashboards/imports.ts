import { CHOSEN, type Dashboard, type Panel } from '../panels.ts';

const IMPORT = `${CHOSEN},rpc_method="crs.imports.v1.ImportService/ImportRecords"`;
const lines = (title: string, unit: string, description: string, ...queries: [string, string][]): Panel => ({
  type: 'timeseries',
  title,
  unit,
  description,
  width: 12,
  queries,
});

export const imports: Dashboard = {
  uid: 'crs-imports',
  title: 'Imports',
  description: 'What `crs import` brings: lines, and the batches in which they come.',
  rows: [
    [
      'Lines',
      [
        lines('Lines by outcome', 'ops', '`unchanged` lines were there already.', [
          `sum by (service, outcome) (rate(crs_import_lines_total{${CHOSEN}}[$__rate_interval]))`,
          '{{service}} {{outcome}}',
        ]),
        lines('Share refused', 'percentunit', 'Of the last half hour. The importer is told which, and why.', [
          `sum by (service) (increase(crs_import_lines_total{${CHOSEN},outcome="refused"}[30m])) / (sum by (service) (increase(crs_import_lines_total{${CHOSEN}}[30m])) > 0)`,
          '{{service}}',
        ]),
      ],
    ],
    [
      'Batches',
      [
        lines('Batches', 'ops', 'By how they ended; `aborted` ones are sent again.', [
          `sum by (service, rpc_response_status_code) (rate(rpc_server_call_duration_count{${IMPORT}}[$__rate_interval]))`,
          '{{service}} {{rpc_response_status_code}}',
        ]),
        lines(
          'Time of a batch',
          's',
          'Of up to 1,000 lines.',
          [
            `histogram_quantile(0.5, sum by (le, service) (rate(rpc_server_call_duration_bucket{${IMPORT}}[$__rate_interval])))`,
            '{{service}} 50th percentile',
          ],
          [
            `histogram_quantile(0.95, sum by (le, service) (rate(rpc_server_call_duration_bucket{${IMPORT}}[$__rate_interval])))`,
            '{{service}} 95th percentile',
          ],
        ),
      ],
    ],
  ],
};
