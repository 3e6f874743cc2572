import { CHOSEN, dashboard, lines, quantile, wide } from '../panels.ts';

const IMPORT = `${CHOSEN},rpc_method="crs.imports.v1.ImportService/ImportRecords"`;

export const imports = dashboard(
  'crs-imports',
  'Imports',
  'The records that `crs import` sends, and the batches in which it sends them.',
  [
    [
      'Lines',
      [
        wide('Records by outcome', 'ops', '`unchanged`: an identical record was already stored.', [
          `sum by (service, outcome) (rate(crs_import_lines_total{${CHOSEN}}[$__rate_interval]))`,
          '{{service}} {{outcome}}',
        ]),
        wide(
          'Share refused',
          'percentunit',
          'Over the last half hour. The report of the import lists the records and the reasons.',
          [
            `sum by (service) (increase(crs_import_lines_total{${CHOSEN},outcome="refused"}[30m])) / (sum by (service) (increase(crs_import_lines_total{${CHOSEN}}[30m])) > 0)`,
            '{{service}}',
          ],
        ),
      ],
    ],
    [
      'Deletions',
      [
        lines(
          'Rows deleted',
          'ops',
          'Rows of deleted organizations and projects (`erasure`), calls that organizations no longer keep (`retention`), and rows whose retention period has ended.',
          [
            `sum by (service, crs_deletion_reason) (rate(crs_deletion_rows_total{${CHOSEN}}[$__rate_interval]))`,
            '{{service}} {{crs_deletion_reason}}',
          ],
        ),
        lines(
          'Calls too old',
          'short',
          'Per day: found by runs of retention (`due`), and deleted by them. The first run after a change of its settings only counts.',
          [`sum by (outcome) (increase(crs_retention_calls_total{${CHOSEN}}[1d]))`, '{{outcome}}'],
        ),
      ],
    ],
    [
      'Batches',
      [
        wide('Batches', 'ops', 'By status. `crs` retries batches that were `aborted`.', [
          `sum by (service, rpc_response_status_code) (rate(rpc_server_call_duration_count{${IMPORT}}[$__rate_interval]))`,
          '{{service}} {{rpc_response_status_code}}',
        ]),
        wide(
          'Batch duration',
          's',
          'A batch has up to 1,000 records.',
          [quantile(0.5, 'rpc_server_call_duration', IMPORT, 'service'), '{{service}} 50th percentile'],
          [quantile(0.95, 'rpc_server_call_duration', IMPORT, 'service'), '{{service}} 95th percentile'],
        ),
        wide(
          'Locks of the calls service',
          'percentunit',
          'The share of time that each lock is held. Batches of one organization are read and staged in parallel, but written one after the other (`imports`) and added to `/v1/changes` one after the other (`feed`). If a single organization imports and a lock is held nearly 100 % of the time, more pods of calls do not make the import faster.',
          [`sum by (lock) (rate(crs_import_lock_duration_sum{${CHOSEN}}[$__rate_interval]))`, '{{lock}}'],
        ).span(24),
      ],
    ],
  ],
);
