import { readArguments, refuseArguments } from '../arguments.ts';
import { say } from '../faults/clients.ts';

const USAGE = `usage: CRS_CLIENT_PROGRAMS=FILE node trials/erasure/main.ts [--calls 1000]

Erases a person, who is in every named field of these calls and in the running text of others, by name and by e-mail. Kills the calls service,
PostgreSQL and crs in every step. Then it restores an older backup and replays the ledger of erasures; and all that again with --calls. After each, no
named field may have the person: in pg_dump, crs export, copies by both clients in SQLite and PostgreSQL, a DuckDB warehouse by dlt, and logs.
crs person find must list exactly the running text, and another organization with the same calls must stay as it is.

It starts the system itself, and runs on Linux. PG_DUMP is a pg_dump that isn't older than the server, with pg_restore beside it.
clients/scenarios/README.md describes FILE.

Prints a line for each place that was searched, and each fault. Exits with 1 if there is one.
`;

const { values } = readArguments(USAGE, { options: { calls: { type: 'string', default: '1000' } } });
if (process.env['CRS_CLIENT_PROGRAMS'] === undefined) refuseArguments(USAGE, 'CRS_CLIENT_PROGRAMS is not set.');
// dlt would report each run to its makers.
process.env['RUNTIME__DLTHUB_TELEMETRY'] = 'false';
// By default, dlt keeps the files that it has loaded.
process.env['LOAD__DELETE_COMPLETED_JOBS'] ??= 'true';
const { ErasureTrial } = await import('./trial.ts');
const started = performance.now();
const faults = await ErasureTrial.run(Number(values.calls));
say(`\n${((performance.now() - started) / 60_000).toFixed(1)} minutes, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
