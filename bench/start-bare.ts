/** Starts the baseline servers of the benchmarks, which return constant bytes or the rows of a single query. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { System } from './system.ts';

/** Starts a baseline server: a program of this folder that prints its port. */
export async function startBare(program: string, ...args: string[]) {
  const [child, port] = await startPrinting([fileURLToPath(new URL(program, import.meta.url)), ...args]);
  return {
    origin: `http://127.0.0.1:${port}`,
    pidsWith: (system: System) => pidsWith(system, 'bare', child.pid!),
    stop: () => child.kill(),
  };
}

/** Starts a Node.js program. @returns the process, and the first line that it prints */
export async function startPrinting(args: string[]) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise<string>((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
  return [child, line] as const;
}

/** Returns the ids of a server's process and of PostgreSQL, by name. */
export function pidsWith({ pids }: System, name: string, pid: number): Map<string, number> {
  return new Map([
    [name, pid],
    ['postgres', pids.get('postgres')!],
  ]);
}

/** Stores texts for `bare-details.ts`, at positions from 1 on. */
export async function storeBare({ databaseUrl }: System, texts: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('create schema bare');
  await client.query('create table bare.details (place bigint primary key, change text not null)');
  await client.query('insert into bare.details select * from unnest($1::bigint[], $2::text[])', [
    texts.map((_, i) => i + 1),
    texts,
  ]);
  await client.query('analyze bare.details');
  await client.end();
}
