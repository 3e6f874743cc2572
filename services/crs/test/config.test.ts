import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../src/config.ts';

let dir: string;
beforeEach(async () => (dir = await mkdtemp(join(tmpdir(), 'crs-config-'))));
afterEach(() => rm(dir, { recursive: true }));

const write = (name: string, content: unknown) =>
  writeFile(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content));
/** The health addresses that are configured: none. */
const health = {};
const LOCAL = { auth: '127.0.0.1:1001', projects: '127.0.0.1:1002', calls: '127.0.0.1:1003', entities: '127.0.0.1:1004' };

async function writeLocal() {
  await write('admin.json', LOCAL);
  await write('operator.json', { name: 'local', credential: 'cro_local' });
}

test('the configuration comes from the files that `npm start` wrote', async () => {
  await writeLocal();
  expect(await loadConfig({ CRS_DATA_DIR: dir })).toEqual({ addresses: LOCAL, health, credential: 'cro_local' });
});

test('each setting in the environment overrides the one in the files', async () => {
  await writeLocal();
  const config = await loadConfig({
    CRS_DATA_DIR: dir,
    CRS_CALLS_ADMIN_ADDRESS: 'calls:9',
    CRS_OPERATOR_CREDENTIAL: 'cro_other',
  });
  expect(config).toEqual({ addresses: { ...LOCAL, calls: 'calls:9' }, health, credential: 'cro_other' });
});

test('no data directory is needed if the environment has every setting', async () => {
  await write('secret.json', { name: 'ci', credential: 'cro_ci', created_at: '2026-01-01T00:00:00.000Z' });
  const config = await loadConfig({
    CRS_DATA_DIR: join(dir, 'none'),
    CRS_AUTH_ADMIN_ADDRESS: 'auth:1',
    CRS_PROJECTS_ADMIN_ADDRESS: 'projects:1',
    CRS_CALLS_ADMIN_ADDRESS: 'calls:1',
    CRS_ENTITIES_ADMIN_ADDRESS: 'entities:1',
    CRS_OPERATOR_FILE: join(dir, 'secret.json'),
  });
  const addresses = { auth: 'auth:1', projects: 'projects:1', calls: 'calls:1', entities: 'entities:1' };
  expect(config).toEqual({ addresses, health, credential: 'cro_ci' });
});

describe('the error message says how to fix it', () => {
  test('when neither files nor settings are found', async () => {
    const failure = await loadConfig({ CRS_DATA_DIR: dir }).catch((error: Error) => error.message);
    expect(failure).toContain('npm start');
    const services = ['AUTH', 'PROJECTS', 'CALLS', 'ENTITIES'].map((service) => `CRS_${service}_ADMIN_ADDRESS`);
    expect(failure).toContain(`set ${services.join(', ')}, CRS_OPERATOR_FILE to`);
  });

  test('when settings are missing, and names only those', async () => {
    const failure = await loadConfig({
      CRS_DATA_DIR: dir,
      CRS_AUTH_ADMIN_ADDRESS: 'a:1',
      CRS_OPERATOR_CREDENTIAL: 'cro_x',
    }).catch((error: Error) => error.message);
    expect(failure).toContain('set CRS_PROJECTS_ADMIN_ADDRESS, CRS_CALLS_ADMIN_ADDRESS, CRS_ENTITIES_ADMIN_ADDRESS to');
  });

  test.each([
    ['a bad address', { CRS_AUTH_ADMIN_ADDRESS: 'nowhere' }, 'CRS_AUTH_ADMIN_ADDRESS: must be host:port'],
    ['a credential file that does not exist', { CRS_OPERATOR_FILE: '/nowhere.json' }, '/nowhere.json does not exist'],
  ])('for %s', async (_, environment, message) => {
    await writeLocal();
    await expect(loadConfig({ CRS_DATA_DIR: dir, ...environment })).rejects.toThrow(message);
  });

  test('for the files of an older version with fewer services', async () => {
    await writeLocal();
    await write('admin.json', { auth: LOCAL.auth, calls: LOCAL.calls });
    await expect(loadConfig({ CRS_DATA_DIR: dir })).rejects.toThrow('admin.json is not valid. `npm start` writes a new one.');
  });

  test('for a damaged file, without its content', async () => {
    await writeLocal();
    await write('operator.json', '{"credential":"cro_secret');
    const failure = await loadConfig({ CRS_DATA_DIR: dir }).catch((error: Error) => error);
    expect(failure).toMatchObject({ message: expect.stringContaining('operator.json is not valid') });
    expect(inspect(failure)).not.toContain('cro_secret');
  });
});
