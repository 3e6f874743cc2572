/** Runs the examples that sync when a webhook's message arrives. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createKey } from '@crs/testing/credentials';
import { freePorts } from '@crs/testing/ports';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROGRAMS } from '../src/programs.ts';

const directory = mkdtempSync(join(tmpdir(), 'crs-webhook-'));
let ports: number[];
let world: OwnWorld;
beforeAll(async () => {
  ports = await freePorts(2);
  world = await startWorld({ webhookAllowHosts: ports.map((port) => `127.0.0.1:${port}`) });
  await world.load([{ type: 'organization', id: 'acme', name: 'Acme' }]);
}, 120_000);
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await world?.close();
});

describe.each(['typescript', 'python'])('the example in %s', (language) => {
  const command = PROGRAMS[language]?.['webhook'];

  it.skipIf(!command)(
    'has a changed call in its copy within seconds, and refuses a message of somebody else',
    async () => {
      const port = ports[language === 'python' ? 1 : 0]!;
      const [program = '', ...args] = command!;
      const copy = join(directory, `${language}.db`);
      const { webhooks, operator } = world.operator;
      const { webhook, secret } = await webhooks().createWebhook({ url: `http://127.0.0.1:${port}/` }, await operator('acme'));
      const env = {
        ...process.env,
        CRS_API_KEY: await createKey(world.operator, 'acme'),
        CRS_BASE_URL: `http://${world.stack.addresses.api}/v1`,
        CRS_WEBHOOK_SECRET: secret,
      };
      const child = spawn(program, [...args, copy, String(port)], { env, stdio: 'inherit' });
      try {
        const post = () => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' }).then(({ status }) => status);
        await expect.poll(() => post().catch(() => 0), { timeout: 20_000 }).toBe(400);
        const { webhookId } = webhook!;
        const { delivery } = await webhooks().testWebhook({ webhookId }, await operator('acme'));
        expect(delivery).toMatchObject({ status: 204 });
        await world.load([{ type: 'call', organization: 'acme', id: `call-${language}` }]);
        const database = new DatabaseSync(copy, { readOnly: true });
        const ids = () =>
          database
            .prepare('select call_id from call_research_calls')
            .all()
            .map((row) => row['call_id']);
        await expect.poll(ids, { timeout: 20_000 }).toContain(`call-${language}`);
        database.close();
      } finally {
        child.kill();
        await once(child, 'exit');
      }
    },
    60_000,
  );
});
