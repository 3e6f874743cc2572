/** Backs up the database with pg_dump, restores it as the runbook does, and searches the plain form of a dump. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { openSession } from '@crs/testing/sql';
import { readCursorStatements } from '../recovery/runbook.ts';
import { add, type Hits } from './hits.ts';
import { CANARY } from './person.ts';

/** Must not be older than the server. `pg_restore` is beside it. */
const PG_DUMP = process.env['PG_DUMP'] ?? 'pg_dump';
const PG_RESTORE = PG_DUMP.includes('/') ? join(dirname(PG_DUMP), 'pg_restore') : 'pg_restore';
const run = promisify(execFile);

export async function backUp(databaseUrl: string, file: string): Promise<void> {
  await run(PG_DUMP, ['--format=custom', '--file', file, databaseUrl]);
}

/** Replaces the database by a backup, by the steps 4 to 6 of "A dump" in docs/runbooks/restore.md. The services must not run. */
export async function restore(databaseUrl: string, file: string): Promise<void> {
  const url = new URL(databaseUrl);
  const name = url.pathname.slice(1);
  url.pathname = '/postgres';
  const server = await openSession(url.href);
  await server.query(`drop database ${name} with (force)`);
  await server.query(`create database ${name}`);
  await server.query(`grant create on database ${name} to crs_owner`);
  await server.close();
  const options = ['--no-owner', '--role', 'crs_owner', '--exit-on-error', '--single-transaction'];
  await run(PG_RESTORE, [...options, '--dbname', databaseUrl, file]);
  const session = await openSession(databaseUrl);
  await session.query('analyze');
  for (const statement of await readCursorStatements()) await session.query(statement);
  await session.close();
}

export interface Dump {
  rows: number;
  /** Canaries by organization; '' has those of rows without one, and of statements. */
  hits: Map<string, Hits>;
}

/** Searches every column of every row that `pg_dump` prints. */
export async function searchDump(databaseUrl: string): Promise<Dump> {
  const child = spawn(PG_DUMP, [databaseUrl], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const dump: Dump = { rows: 0, hits: new Map() };
  const hitsOf = (organization: string) => {
    const hits = dump.hits.get(organization) ?? new Map<string, number>();
    dump.hits.set(organization, hits);
    return hits;
  };
  let table: { name: string; columns: string[] } | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, columns] = /^COPY (\S+) \((.*)\) FROM stdin;$/.exec(line) ?? [];
    if (name !== undefined) table = { name, columns: columns!.split(', ') };
    else if (line === '\\.') table = undefined;
    else if (!table) add(hitsOf(''), 'statements', countIn(line));
    else {
      dump.rows++;
      const values = line.split('\t');
      const hits = hitsOf(values[table.columns.indexOf('organization')] ?? '');
      for (const [i, value] of values.entries()) add(hits, `${table.name}.${table.columns[i]}`, countIn(value));
    }
  }
  const [code] = await closed;
  if (code !== 0) throw new Error(`pg_dump ended with ${code}`);
  return dump;
}

/** Counts canaries in a value, which may be the hexadecimal digits of binary data. */
function countIn(value: string): number {
  const text = value.startsWith('\\\\x') ? Buffer.from(value.slice(3), 'hex').toString('latin1') : value;
  return text.match(CANARY)?.length ?? 0;
}
