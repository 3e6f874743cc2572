import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLogger } from '@crs/kit/process/log';
import { directorySecrets } from '../src/directory.ts';
import { Failure } from '../src/failure.ts';
import { ensureSecrets } from '../src/secrets.ts';

const urlOf = () => 'postgres://admin:of@database:5432/crs?sslmode=disable';
const log = createLogger('test', { level: 'silent' });
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'crs-secrets-'));
});
afterEach(() => rm(directory, { recursive: true }));
const files = async () => {
  const names = (await readdir(directory)).toSorted();
  return Promise.all(names.map(async (name) => [name, await readFile(join(directory, name), 'utf8')] as const));
};

it('writes secrets to files in the formats of node and crs, readable only by the owner, and reuses existing files', async () => {
  const secrets = await ensureSecrets(directorySecrets(directory), { urlOf }, log);
  const written = await files();
  expect(written.map(([name]) => name)).toEqual([
    'auth.env',
    'calls.env',
    'entities.env',
    'operator.json',
    'projects.env',
    'tool-gateway.env',
    'webhooks.env',
  ]);
  for (const [name] of written) expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600);
  const contents = Object.fromEntries(written);
  expect(contents['calls.env']).toBe(
    `DATABASE_URL=postgres://crs_calls:${secrets.logins.calls?.password}@database:5432/crs?sslmode=disable\n`,
  );
  expect(JSON.parse(contents['operator.json']!)).toEqual(secrets.operator);
  expect(await ensureSecrets(directorySecrets(directory), { urlOf }, log)).toEqual(secrets);
  expect(await files()).toEqual(written);
});

it('does not overwrite the file of another installation, and leaves no temporary files', async () => {
  const store = directorySecrets(directory);
  expect(await store.create('calls', { DATABASE_URL: 'first' })).toBe(true);
  expect(await store.create('calls', { DATABASE_URL: 'second' })).toBe(false);
  expect(await store.read('calls')).toEqual({ DATABASE_URL: 'first' });
  expect(await readdir(directory)).toEqual(['calls.env']);
});

it('fails with a message about CRS_SECRET_DIR if the directory is missing', async () => {
  const store = directorySecrets(join(directory, 'absent'));
  const error = await store.create('calls', { DATABASE_URL: 'x' }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Failure);
  expect(String(error)).toContain('CRS_SECRET_DIR must be a directory');
});
