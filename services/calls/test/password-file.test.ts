import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as column from '@crs/kit/data/column';
import { Database } from '@crs/kit/data/database';
import { credentialScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { openSession, type Session } from '@crs/testing/sql';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';

const ROLE = 'crs_test_tokens';
const log = createLogger('test', { level: 'silent' });
let superuser: Session;
let folder: string;
let database: Database;
beforeAll(async () => {
  [superuser, folder] = [await openSession(inject('postgresUrl')), await mkdtemp(join(tmpdir(), 'crs-test-'))];
});
afterAll(async () => {
  await database?.close();
  await superuser?.query(`drop role if exists ${ROLE}`);
  await superuser?.close();
  await rm(folder, { recursive: true, force: true });
});

it('each new connection to PostgreSQL reads the password file again', async () => {
  const path = join(folder, 'token');
  await superuser.query(`create role ${ROLE} login password 'first token'`);
  await writeFile(path, 'first token\n');
  const url = new URL(inject('postgresUrl'));
  [url.username, url.password] = [ROLE, ''];
  database = new Database({ name: 'test', url: url.href, passwordFile: path, maxConnections: 1, log, pipeline: true });
  const queryRole = () =>
    database.read(credentialScope('acme', workFor(5_000)), {
      name: 'who',
      row: { role: column.text, pid: column.integer },
      text: 'select current_user::text as role, pg_backend_pid() as pid',
    });
  const [first] = await queryRole();
  expect(first!.role).toBe(ROLE);

  await superuser.query(`alter role ${ROLE} password 'second token'`);
  expect(await queryRole()).toEqual([first]);
  await superuser.query(`select pg_terminate_backend(${first!.pid})`);
  await expect.poll(() => queryRole().catch((error: Error) => error.message)).toBe('The database is not available.');
  await writeFile(path, 'second token');
  expect((await queryRole())[0]).toMatchObject({ role: ROLE });
  await rm(path);
  expect(await queryRole()).toMatchObject([{ role: ROLE }]);
});
