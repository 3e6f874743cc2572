// Asks the system generated requests, over every route and tool, and holds each answer against the contract. Ctrl-C ends it early, with
// its report.
//
//   node trials/fuzz/main.ts [--requests 100000] [--seed N] [--concurrency 24]
import { parseArgs } from 'node:util';
import { prepareDatabase } from '@crs/local/stack';
import { createDatabase, startTestPostgres } from '@crs/testing/postgres';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { fuzz } from './run.ts';
import { startFuzzSystem } from './system.ts';
import { table } from './table.ts';

const { values: options } = parseArgs({
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
  const access = { secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL };
  await prepareDatabase({ adminDatabaseUrl: database.url, ...access });
  const system = await startFuzzSystem({ databaseUrl: database.url, ...access, say });
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
