import { prepareDatabase } from '@crs/local/stack';
import { startTestPostgres } from '@crs/testing/postgres';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { readArguments } from '../arguments.ts';
import { greatestRequests } from './greatest.ts';
import { largestRecords } from './largest-records.ts';
import { fuzz } from './run.ts';
import { startFuzzSystem } from './system.ts';
import { table } from './table.ts';

const USAGE = `usage: node trials/fuzz/main.ts [--requests 100000] [--seed N] [--concurrency 24]

Sends generated calls of every tool, requests that store and delete records, and raw bytes, to the gateways of a system that it starts itself, and
compares each response with the contract: the tools' schemas, visibility, rights, refused lines and limits. Then it sends a tenth as many alone, which measures how long they hold the event loop of
each process: at most 20 ms in one turn (the least of several tries). So are the greatest inputs of each route, tool and import. The same seed
generates the same requests. It runs on Linux.

Prints a table of the answers by route, the ten slowest inputs, and the smallest request with a violation that each of the concurrent senders found.
Exits with 1 if an answer breaks the contract or takes too long.
`;

const { values } = readArguments(USAGE, {
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() & 0x7fffffff) },
    concurrency: { type: 'string', default: '24' },
  },
});
const [requests, seed, concurrency] = [values.requests, values.seed, values.concurrency].map(Number) as [number, number, number];
const postgres = await startTestPostgres();
try {
  await prepareDatabase({ adminDatabaseUrl: postgres.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  const system = await startFuzzSystem(postgres.url);
  try {
    process.stdout.write(`seed ${seed}\n`);
    const greatest = [...greatestRequests(system), ...(await largestRecords(system))];
    const alone = { processes: system, requests: Math.ceil(requests / 10), greatest };
    const report = await fuzz(system, { requests, seed, concurrency, alone });
    process.stdout.write(`${table(report)}\n`);
    process.exitCode = report.violations.length > 0 ? 1 : 0;
  } finally {
    await system.stop();
  }
} finally {
  await postgres.stop();
}
