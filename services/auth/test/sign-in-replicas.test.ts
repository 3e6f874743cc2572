import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INHERITED } from '@crs/testing/inherited';
import { startRelay, type Relay } from '@crs/testing/relay';
import { SECRET } from '@crs/testing/setup';
import { tenant } from '@crs/testing/world';
import { ANN, organization, serviceUrl, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';
import { startReplica } from './_replica.ts';
import { askedBy, authorizePath, Browser, connectAssistant, pkce, redeem, refresh, register } from './_sign-in.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PERSON = { organization: ACME, email: ANN, password: 'correct horse battery' };

let world: SharedAuthWorld;
let relay: Relay;
beforeAll(async () => {
  const twins = [ACME, GLOBEX].flatMap((id) => [organization(id), user(id, ANN, { password: PERSON.password })]);
  world = await sharedAuthWorld(twins);
  relay = await startRelay(new URL(world.databaseUrl).host);
});
afterAll(() => relay?.close());

it('the process starts without a warning', async () => {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const anyPort = '127.0.0.1:0';
  const child = spawn(process.execPath, [main], {
    env: {
      ...INHERITED,
      CRS_LISTEN: anyPort,
      CRS_ADMIN_LISTEN: anyPort,
      CRS_HTTP_LISTEN: anyPort,
      CRS_OPS_LISTEN: anyPort,
      CRS_SECRET: SECRET,
      CRS_TOOLS_URL: 'https://tools.example',
      DATABASE_URL: serviceUrl(world.databaseUrl),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  const stderr: string[] = [];
  for await (const line of createInterface(child.stderr)) {
    stderr.push(line);
    if (line.includes('"ready"')) child.kill('SIGTERM');
  }
  expect(await exited).toEqual([0, null]);
  expect(stderr.filter((line) => !line.startsWith('{"level":"info"'))).toEqual([]);
  expect(stderr).toContainEqual(expect.stringContaining('"ready"'));
});

it('people whose domain no organization lists belong to the default organization', async () => {
  const { http, stop } = await startReplica(world, { defaultOrganization: ACME });
  try {
    const browser = new Browser(http);
    const { page } = await browser.open('/connections');
    const next = await browser.submit(page, { email: ANN });
    expect(askedBy(next.page)).toEqual(['email', 'password']);
    expect(next.page.text).toContain(`<bdi>${ACME}</bdi>`);
  } finally {
    await stop();
  }
});

describe('while the database is unavailable', () => {
  const through = () => {
    const url = new URL(serviceUrl(world.databaseUrl));
    url.host = relay.address;
    return url.href;
  };

  it('programs and people get 503 with Retry-After, and service recovers by itself', async () => {
    const { http, stop } = await startReplica(world, { databaseUrl: through() });
    try {
      const browser = new Browser(http);
      const { clientId, tokens } = await connectAssistant(browser, PERSON);
      await relay.close();
      const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: tokens.refresh_token };
      for (const answer of [
        await browser.send('/token', { form }),
        await browser.send('/connections'),
        await browser.send(authorizePath(clientId, pkce().challenge)),
      ]) {
        expect(answer.status, answer.text).toBe(503);
        expect(answer.headers.get('retry-after')).toBe('1');
        expect(answer.text).not.toMatch(/ECONN|terminated|postgres/i);
      }
      await relay.open();
      expect((await browser.send('/token', { form })).status).toBe(200);
    } finally {
      await stop();
    }
  });

  it('a replica started meanwhile waits, and serves once the database is back', async () => {
    await relay.close();
    const log: string[] = [];
    const starting = startReplica(world, { databaseUrl: through() }, log);
    await expect.poll(() => log.join('')).toContain('waiting for the schema');
    expect(log.join('')).not.toContain('"ready"');
    await relay.open();
    const { http, stop } = await starting;
    try {
      expect((await new Browser(http).send('/.well-known/oauth-authorization-server')).status).toBe(200);
    } finally {
      await stop();
    }
  });
});

describe('when every replica restarts', () => {
  it('an authorization in progress continues, whatever its step', async () => {
    const cookies = new Map<string, string>();
    const atNewReplica = async <T>(step: (browser: Browser) => Promise<T>): Promise<T> => {
      const { http, stop } = await startReplica(world);
      const browser = new Browser(http);
      for (const [name, value] of cookies) browser.cookies.set(name, value);
      try {
        return await step(browser);
      } finally {
        for (const [name, value] of browser.cookies) cookies.set(name, value);
        await stop();
      }
    };
    const { verifier, challenge } = pkce();
    const { body: client } = await atNewReplica((b) => register(b));
    const start = await atNewReplica((b) => b.open(authorizePath(client.client_id, challenge)));
    const consent = await atNewReplica((b) => b.submit(start.page, { ...PERSON }));
    const { externalUrl } = await atNewReplica((b) => b.submit(consent.page, { decision: 'allow' }));
    const code = externalUrl!.searchParams.get('code')!;
    const first = await atNewReplica((b) => redeem(b, client.client_id, code, verifier));
    const second = await atNewReplica((b) => refresh(b, client.client_id, first.body.refresh_token));
    for (const { body } of [first, second])
      await world.auth.authenticateToken({ accessToken: body.access_token, audiences: ['calls'] });
  });
});
