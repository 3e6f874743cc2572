import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

export interface Bare {
  origin: string;
  pid: number;
  stop(): void;
}

/** Starts a program of this folder that prints its port. */
export async function startBare(program: string, ...args: string[]): Promise<Bare> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<string>((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
  return { origin: `http://127.0.0.1:${port}`, pid: child.pid!, stop: () => child.kill() };
}

/** Stores texts as `bare-details.ts` reads them, from place 1 on. */
export async function storeBare(databaseUrl: string, texts: string[]): Promise<void> {
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
