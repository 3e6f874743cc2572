import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { INHERITED } from '@crs/testing/inherited';
import { describe, expect, it } from 'vitest';

const DATABASE_URL = 'postgres://admin:secret@127.0.0.1/research';
const PEERS = { CRS_SECRET_PREFIX: 'crs', CRS_TLS_PEER_DOMAIN: 'crs.research.call-research' };
const pathOf = (name: string) => fileURLToPath(new URL(`../src/${name}.ts`, import.meta.url));

describe('the program', () => {
  async function start(name: string, environment: object) {
    const child = spawn(process.execPath, [pathOf(name)], {
      env: { ...INHERITED, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const stderr = text(child.stderr);
    const [code] = await once(child, 'exit');
    return {
      code,
      messages: (await stderr)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).msg as string),
    };
  }

  const MISSING_HOST =
    'KUBERNETES_SERVICE_HOST is not set: run this in a pod of Kubernetes. The install Job runs elsewhere with CRS_SECRET_DIR.';

  it.each([
    ["The configuration can't be used: MIGRATE_DATABASE_URL: is required", 'main', {}],
    ["The configuration can't be used: CRS_SECRET_PREFIX: is required", 'main', { MIGRATE_DATABASE_URL: DATABASE_URL }],
    [MISSING_HOST, 'main', { MIGRATE_DATABASE_URL: DATABASE_URL, CRS_SECRET_PREFIX: 'crs' }],
    ["The configuration can't be used: CRS_CERTIFICATES: is required", 'renew', PEERS],
    [MISSING_HOST, 'renew', { ...PEERS, CRS_CERTIFICATES: 'auth,calls' }],
  ])('exits with a single log message about the missing setting: %s', async (message, name, environment) => {
    expect(await start(name, environment)).toEqual({ code: 1, messages: [message] });
  });

  it('toolbox.ts runs until SIGTERM', async () => {
    // The evaluated code runs once toolbox.ts is loaded, and reports that.
    const options = ['--import', pathOf('toolbox'), '--eval', "console.log('loaded')"];
    const child = spawn(process.execPath, options, { env: INHERITED, stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    await once(createInterface(child.stdout), 'line');
    await sleep(100);
    expect(child.exitCode).toBe(null);
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});
