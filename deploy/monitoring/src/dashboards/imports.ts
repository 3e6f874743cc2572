import { CHOSEN, dashboard, lines, quantile, wide } from '../panels.ts';

const IMPORT = `${CHOSEN},rpc_method="crs.imports.v1.ImportService/ImportRecords"`;

export const imports = dashboard(
  'crs-imports',
  'Imports',
  'The lines that `crs import` sends, and the batches in which it sends them.',
  [
    [
      'Lines',
      [
        wide('Lines by outcome', 'ops', '`unchanged`: the record was stored already.', [
          `sum by (service, outcome) (rate(crs_import_lines_total{${CHOSEN}}[$__rate_interval]))`,
          '{{service}} {{outcome}}',
        ]),
        wide('Share refused', 'percentunit', 'Over the last half hour. The report of the import says which lines, and why.', [
          `sum by (service) (increase(crs_import_lines_total{${CHOSEN},outcome="refused"}[30m])) / (sum by (service) (increase(crs_import_lines_total{${CHOSEN}}[30m])) > 0)`,
          '{{service}}',
        ]),
      ],
    ],
    [
      'Deletions',
      [
        lines('Rows deleted', 'ops', 'Of organizations and projects (`erasure`), and of what is kept for a time only.', [
          `sum by (service, crs_deletion_reason) (rate(crs_deletion_rows_total{${CHOSEN}}[$__rate_interval]))`,
          '{{service}} {{crs_deletion_reason}}',
        ]).span(24),
      ],
    ],
    [
      'Batches',
      [
        wide('Batches', 'ops', 'By status. `crs` sends a batch again that was `aborted`.', [
          `sum by (service, rpc_response_status_code) (rate(rpc_server_call_duration_count{${IMPORT}}[$__rate_interval]))`,
          '{{service}} {{rpc_response_status_code}}',
        ]),
        wide(
          'Time of a batch',
          's',
          'A batch has up to 1,000 lines.',
          [quantile(0.5, 'rpc_server_call_duration', IMPORT, 'service'), '{{service}} 50th percentile'],
          [quantile(0.95, 'rpc_server_call_duration', IMPORT, 'service'), '{{service}} 95th percentile'],
        ),
        wide(
          'Locks of calls',
          'percentunit',
          'Batches of one organization are read and staged side by side, and written one after the other (`imports`), their places in `/v1/changes` last (`feed`). While one organization imports and this is near 100 %, more pods of calls don’t make it faster.',
          [`sum by (lock) (rate(crs_import_lock_duration_sum{${CHOSEN}}[$__rate_interval]))`, '{{lock}}'],
        ).span(24),
      ],
    ],
  ],
);
