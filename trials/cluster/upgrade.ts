import { exchange } from '@crs/testing/exchange';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressOf, helm, kubectl, objects, RELEASE } from './cluster.ts';
import { holdDump, sql, waitsForLock } from './postgres.ts';
import { image, nextVersion, packedChart, VALUES } from './release.ts';
import { say } from './report.ts';
import { credentials, ORGANIZATION } from './tenant.ts';
import { replacesAll, until } from './under-load.ts';

const NEXT_IMAGE = process.env['NEXT_IMAGE'] ?? 'call-research:test-next';
const INSTALL_PODS = 'app.kubernetes.io/component=install';
/** Requests must not feel how long a dump takes. */
const DUMP_MS = 20_000;
/** So many that the migration takes half a minute for them. */
const PROJECTS_OF_BEFORE = `insert into projects.projects (organization, project_id, name, is_archived, created_at)
  select '${ORGANIZATION}', gen_random_uuid(), 'Of Before', false, now() from generate_series(1, 3000)`;

/**
 * Upgrades to the next version, which changes the schema (next/next.patch), with another setting that every service reads. Its migration meets a
 * pg_dump that holds its locks, and then is killed half-way.
 */
export async function upgrade(): Promise<string> {
  const chart = await packedChart(await nextVersion());
  const change = ['--set', 'defaults.logLevel=warn'];
  const seen: string[] = [];
  const note = await replacesAll(async () => {
    await sql(PROJECTS_OF_BEFORE);
    const dump = await holdDump();
    const args = ['upgrade', RELEASE, chart, ...VALUES, ...image(NEXT_IMAGE), ...change, '--wait', '--timeout', '30m'];
    const upgraded = helm(args, { shown: true });
    // Either's failure fails the other.
    const disturbed = disturb(dump, seen);
    await Promise.race([upgraded, disturbed]);
    await Promise.all([upgraded, disturbed]);
  });
  await checkSchema();
  const namesakes = await namesakesOfAProject();
  if (!(Number(namesakes) > 0)) throw new Error(`The new column was not read: ${namesakes}; ${note}`);
  return `${seen.join(', ')}; ${note}`;
}

async function disturb(dump: { release(): Promise<void> }, seen: string[]): Promise<void> {
  await until('the migration waits for the dump', () => waitsForLock('alter table projects.projects add column'), 300);
  await sleep(DUMP_MS);
  await dump.release();
  seen.push(`waited for a pg_dump`);

  const count = async (of: string) => Number(await sql(`select ${of} from projects.projects`).catch(() => '0'));
  await until('the migration fills the column', async () => (await count('count(name_folded)')) > 0);
  const [killed] = (await objects('pod', INSTALL_PODS)).filter(({ status }) => status.phase === 'Running');
  await kubectl(['delete', 'pod', killed.metadata.name, '--grace-period=0', '--force'], { shown: true });
  const left = await count('count(*) filter (where name_folded is null)');
  if (left === 0) throw new Error('The migration was killed too late: every row was filled.');
  seen.push(`killed with ${left} rows left`);
}

/** @throws Error where a row of before is not filled, or an index not built */
async function checkSchema(): Promise<void> {
  const indexes = `select string_agg(indexrelid::regclass::text, ',' order by 1) from pg_index where indisvalid and indexrelid in ('projects.projects_namesakes'::regclass, 'calls.calls_countries'::regclass)`;
  const valid = await sql(indexes);
  if (!valid.includes(',')) throw new Error(`Valid indexes: ${valid}`);
  const wrong = await sql(
    `select count(*) from projects.projects where name = 'Of Before' and name_folded is distinct from 'of before'`,
  );
  if (wrong !== '0') throw new Error(`${wrong} rows were not filled`);
  say(await sql('select * from install.releases order by begun_at'));
}

/** The answer of the next version's new RPC in its GET of a project; undefined from the version before. */
async function namesakesOfAProject(): Promise<string | undefined> {
  const { key } = await credentials();
  const id = await sql(`select project_id from projects.projects where name = 'Made under load' limit 1`);
  const headers = { authorization: `Bearer ${key}` };
  const answer = await exchange(`${await addressOf('api-gateway')}/v1/projects/${id}`, { headers });
  if (answer.status !== 200) throw new Error(`GET of a project: ${answer.status} ${answer.body}`);
  return answer.headers['x-namesakes']?.toString();
}

/** Goes back to the code of before, on the schema of the next version. */
export async function rollback(): Promise<string> {
  const note = await replacesAll(() => helm(['rollback', RELEASE, '--wait', '--timeout', '30m'], { shown: true }));
  await checkSchema();
  const namesakes = await namesakesOfAProject();
  if (namesakes !== undefined) throw new Error(`The next version answers still: ${note}`);
  return note;
}
