// Turns a plain database with rows into one of Citus, by an installation while organizations read, and compares the rows:
//
//   node trials/citus/convert.ts COORDINATOR_URL [CALLS_OF_EACH_ORGANIZATION]
import { prepareDatabase } from '@crs/local/stack';
import { createDatabase, joinNodes } from '@crs/testing/postgres';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import pg from 'pg';
import { startSystem, type Answer } from './system.ts';

const [url, calls = '50'] = process.argv.slice(2);
if (url === undefined) throw new Error('Name the URL of the coordinator.');
const say = (line: string) => void process.stdout.write(`${line}\n`);

const database = await createDatabase(url);
const install = () =>
  prepareDatabase({ adminDatabaseUrl: database.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
await install();
const system = await startSystem(database.url, 40, Number(calls));
const rows = async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const counts: Record<string, string> = {};
  for (const table of ['auth.organizations', 'auth.api_keys', 'calls.calls', 'calls.changes', 'calls.call_days']) {
    counts[table] = (await client.query(`select count(*) as count from ${table}`)).rows[0].count;
  }
  await client.end();
  return JSON.stringify(counts);
};
const before = await rows();
const answers: Answer[] = [];
const stop = system.read((answer) => answers.push(answer));
await new Promise((resolve) => setTimeout(resolve, 3_000));
await joinNodes(url, database.name);
const begun = performance.now();
await install();
const ended = performance.now();
await new Promise((resolve) => setTimeout(resolve, 3_000));
await stop();
const failed = answers.filter(({ status }) => status !== 200);
const after = await rows();
say(`distributed in ${((ended - begun) / 1000).toFixed(1)} s`);
say(`${failed.length} of ${answers.length} requests failed, longest ${Math.max(...answers.map(({ ms }) => ms)).toFixed(0)} ms`);
const statuses = Map.groupBy(failed, ({ status }) => status);
if (failed.length > 0) say([...statuses].map(([status, list]) => `${list.length} with ${status}`).join(', '));
say(`last failure ${failed.length === 0 ? 'none' : `${((failed.at(-1)!.at - ended) / 1000).toFixed(1)} s after the end`}`);
say(`${before === after ? 'the same rows' : 'other rows'}: ${after}`);
await system.stop();
await database.drop();
process.exitCode = before === after ? 0 : 1;
