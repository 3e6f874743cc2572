import { prepareDatabase } from '@crs/local/stack';
import { createDatabase, startTestPostgres } from '@crs/testing/postgres';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { readArguments } from '../arguments.ts';
import { greatestRequests } from './greatest.ts';
import { largestRecords } from './largest-records.ts';
import { fuzz } from './run.ts';
import { startFuzzSystem } from './system.ts';
import { table } from './table.ts';

const USAGE = `usage: node trials/fuzz/main.ts [--requests 100000] [--seed N] [--concurrency 24]

Sends generated requests to every REST route and every tool of a system that it starts itself, and checks each answer against the contract: the
OpenAPI document, the tools' schemas, visibility and limits. Each request is sent twice: among others, and alone, which measures how long it holds
the event loop of each process: at most 20 ms in one turn (the least of several tries). So are the greatest inputs of each route, tool and import.
The same seed generates the same requests. Ctrl-C ends the run early. It runs on Linux.

Prints a table of the answers by route, the ten slowest inputs, and the smallest request for each kind of violation.
Exits with 1 where an answer breaks the contract or takes too long.
`;

const { values: options } = readArguments(USAGE, {
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() & 0x7fffffff) },
    concurrency: { type: 'string', default: '24' },
  },
});
const requests = Number(options.requests);
const seed = Number(options.seed);

const say = (line: string) => void process.stdout.write(`${line}\n`);
const postgres = await startTestPostgres();
try {
  const database = await createDatabase(postgres.url);
  await prepareDatabase({ adminDatabaseUrl: database.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  const system = await startFuzzSystem({ databaseUrl: database.url, say });
  try {
    const interrupted = new AbortController();
    process.once('SIGINT', () => interrupted.abort());
    say(`seed ${seed}`);
    const begun = performance.now();
    const progress = (done: number) => {
      const line = `${done} of ${requests}, ${((done / (performance.now() - begun)) * 1000).toFixed(0)}/s`;
      if (process.stdout.isTTY) process.stdout.write(`\r${line} ${done === requests ? '\n' : ''}`);
      else if (done % 10_000 === 0) say(line);
    };
    const report = await fuzz(system, {
      requests,
      seed,
      concurrency: Number(options.concurrency),
      measured: requests,
      greatest: [...greatestRequests(system), ...(await largestRecords(system))],
      progress,
      signal: interrupted.signal,
    });
    say(table(report));
    process.exitCode = report.violations.length > 0 ? 1 : 0;
  } finally {
    await system.stop();
  }
} finally {
  await postgres.stop();
}
