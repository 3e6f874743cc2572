import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '@crs/kit/data/database';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { parseSecrets } from '@crs/kit/process/secrets';
import { INHERITED } from '@crs/testing/inherited';
import { startRelay, type Relay } from '@crs/testing/relay';
import { SECRET } from '@crs/testing/setup';
import { createAuthService } from '../src/service.ts';
import { deleteExcess, deleteExpired } from '../src/store/oidc-payloads.ts';
import { ANN, organization, serviceUrl, startAuthWorld, user, type AuthWorld } from './_fixtures.ts';
import {
  askedBy,
  Browser,
  CALLBACK,
  authorizePath,
  connectAssistant,
  pkce,
  redeem,
  refresh,
  register,
  signIn,
} from './_sign-in.ts';

const PERSON = { organization: 'acme', email: ANN, password: 'correct horse battery' };
const log = createLogger('auth', { level: 'silent' });

let world: AuthWorld;
let relay: Relay;
beforeAll(async () => {
  world = await startAuthWorld([organization('acme'), user('acme', ANN, { password: PERSON.password })]);
  relay = await startRelay(new URL(world.databaseUrl).host);
});
afterAll(async () => {
  await relay?.close();
  await world?.close();
});

/** Starts another replica with these options. */
async function replica(options: { toolsUrl?: string; databaseUrl?: string; defaultOrganization?: string } = {}) {
  const service = createAuthService(
    {
      accessTokenSeconds: 86_400,
      listen: '127.0.0.1:0',
      adminListen: '127.0.0.1:0',
      httpListen: '127.0.0.1:0',
      databaseUrl: serviceUrl(world.databaseUrl),
      maxConnections: 2,
      secrets: parseSecrets(SECRET),
      toolsUrl: 'https://tools.example',
      ...options,
    },
    { log },
  );
  const { http } = await service.start();
  return { browser: new Browser(http), stop: () => service.stop() };
}

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
  const said: string[] = [];
  for await (const line of createInterface(child.stderr)) {
    said.push(line);
    if (line.includes('"ready"')) child.kill('SIGTERM');
  }
  expect(await exited).toEqual([0, null]);
  expect(said.filter((line) => !line.startsWith('{"level":"info"'))).toEqual([]);
  expect(said).toContainEqual(expect.stringContaining('"ready"'));
});

describe('over https', () => {
  it('cookies belong to this host alone, and no script or other site can read them', async () => {
    const { browser, stop } = await replica();
    try {
      const { body } = await register(browser);
      const resource = 'https://tools.example/mcp';
      const start = await browser.send(authorizePath(body.client_id, pkce().challenge, { resource }));
      expect(start.headers.get('location')).toMatch('https://tools.example/sign-in/');
      const page = await browser.send('/connections');
      const cookies = [...start.headers.getSetCookie(), ...page.headers.getSetCookie()];
      expect(cookies.length).toBeGreaterThanOrEqual(4);
      for (const cookie of cookies) {
        expect(cookie).toMatch(/^__(Host|Secure)-crs_/);
        expect(cookie).toMatch(/; secure/i);
        expect(cookie).toMatch(/; httponly/i);
        expect(cookie).toMatch(/; samesite=lax/i);
        expect(cookie).not.toMatch(/; domain/i);
        if (cookie.startsWith('__Host-')) expect(cookie).toMatch(/; path=\/(;|$)/i);
      }
      for (const { headers } of [page])
        expect(Object.fromEntries(headers)).toMatchObject({
          'content-security-policy': expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
          'x-frame-options': 'DENY',
          'cache-control': 'no-store',
        });
    } finally {
      await stop();
    }
  });
});

it('people whose domain no organization lists belong to the default organization', async () => {
  const { browser, stop } = await replica({ toolsUrl: 'http://tools.example', defaultOrganization: 'acme' });
  try {
    const { page } = await browser.open('/connections');
    const next = await browser.submit(page, { email: ANN });
    expect(askedBy(next.page)).toEqual(['email', 'password']);
    expect(next.page.text).toContain('<bdi>acme</bdi>');
  } finally {
    await stop();
  }
});

describe('while the database is away', () => {
  const through = () => {
    const url = new URL(serviceUrl(world.databaseUrl));
    url.host = relay.address;
    return url.href;
  };

  it('programs and people are told to try again, and service recovers by itself', async () => {
    const { browser, stop } = await replica({ toolsUrl: 'http://tools.example', databaseUrl: through() });
    try {
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
    const starting = replica({ toolsUrl: 'http://tools.example', databaseUrl: through() });
    expect(await Promise.race([starting, sleep(500, 'waits')])).toBe('waits');
    await relay.open();
    const { browser, stop } = await starting;
    try {
      expect((await browser.send('/.well-known/oauth-authorization-server')).status).toBe(200);
    } finally {
      await stop();
    }
  });
});

describe('when every replica restarts', () => {
  it('an authorization under way goes on, at any of its steps', async () => {
    const toolsUrl = 'http://tools.example';
    const cookies = new Map<string, string>();
    const atNewReplica = async <T>(step: (browser: Browser) => Promise<T>): Promise<T> => {
      const { browser, stop } = await replica({ toolsUrl });
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
    const { away } = await atNewReplica((b) => b.submit(consent.page, { decision: 'allow' }));
    const code = away!.searchParams.get('code')!;
    const first = await atNewReplica((b) => redeem(b, client.client_id, code, verifier));
    const second = await atNewReplica((b) => refresh(b, client.client_id, first.body.refresh_token));
    for (const { body } of [first, second])
      await world.auth.authenticateToken({ accessToken: body.access_token, audiences: ['calls'] });
  });
});

describe('expired sign-in state', () => {
  it('is deleted in batches, and nothing else is', async () => {
    await world.rows('delete from auth.oidc_payloads');
    await world.rows(
      `insert into auth.oidc_payloads (model, id_digest, payload_encrypted, expires_at)
        select 'Session', sha256(n::text::bytea), '', now() + (n - 7) * interval '1 minute' from generate_series(1, 10) n`,
    );
    await world.rows(`update auth.throttles set resets_at = now() - interval '1 minute'`);
    const db = new Database({ name: 'auth', url: serviceUrl(world.databaseUrl), maxConnections: 1, log, pipeline: true });
    try {
      const clean = () => db.transact(directoryScope(workFor(5_000)), (query) => deleteExpired(query, 4));
      expect((await clean()).payloads).toBe(4);
      expect((await clean()).payloads).toBeLessThan(4);
    } finally {
      await db.close();
    }
    const [{ left } = { left: 0 }] = await world.rows<{ left: number }>('select count(*)::int as left from auth.oidc_payloads');
    expect(left).toBe(3);
    expect(await world.rows('select 1 from auth.throttles')).toEqual([]);
  });
});

describe('what strangers store', () => {
  it('is small: a long state and other large parameters are refused', async () => {
    const browser = new Browser(world.stack.addresses.authHttp);
    const { body } = await register(browser);
    const begin = (more: Record<string, string>) => browser.open(authorizePath(body.client_id, pkce().challenge, more));
    expect((await begin({ state: 'x'.repeat(2_048) })).page.text).toContain('name="email"');
    await world.rows('delete from auth.oidc_payloads where model <> $1', ['Client']);
    const long = await begin({ state: 'x'.repeat(2_049) });
    expect(long.away?.searchParams.get('error_description')).toContain('state must have at most 2048 characters');
    const large = await begin({ login_hint: 'x'.repeat(8_192) });
    expect(large.away?.searchParams.get('error')).toBe('invalid_request');
    expect(await world.rows(`select 1 from auth.oidc_payloads where model <> 'Client'`)).toEqual([]);
    const client = await register(browser, { client_name: 'x'.repeat(8_192) });
    expect([client.status, client.body.error]).toEqual([400, 'invalid_request']);
  });

  it('is an Interaction, and no Session, until somebody signs in', async () => {
    const browser = new Browser(world.stack.addresses.authHttp);
    const { body } = await register(browser);
    await world.rows('delete from auth.oidc_payloads where model <> $1', ['Client']);
    await browser.open(authorizePath(body.client_id, pkce().challenge));
    const stored = await world.rows(`select distinct model from auth.oidc_payloads where model <> 'Client'`);
    expect(stored).toEqual([{ model: 'Interaction' }]);
  });

  it('is bounded over all strangers; what somebody consented to is kept', async () => {
    await world.rows('delete from auth.oidc_payloads');
    await world.rows('delete from auth.throttles');
    await world.rows(
      `insert into auth.oidc_payloads (model, id_digest, payload_encrypted, expires_at)
        select model, sha256(n::text::bytea), '', now() + n * interval '1 hour'
        from generate_series(20, 29) n, unnest(array['Interaction', 'Client', 'Grant']) model`,
    );
    await world.rows(
      `insert into auth.throttles (bucket, tries, resets_at) select n::text::bytea, 1, now() + interval '1 hour' from generate_series(1, 9) n`,
    );
    const db = new Database({ name: 'auth', url: serviceUrl(world.databaseUrl), maxConnections: 1, log, pipeline: true });
    try {
      const most = { Interaction: 3, Client: 3, ReplayDetection: 3 };
      const clean = (limit: number) =>
        db.transact(directoryScope(workFor(5_000)), (query) => deleteExcess(query, limit, most, 3));
      expect(await clean(1)).toEqual({ payloads: 1, throttles: 1 });
      expect(await clean(100)).toEqual({ payloads: 1, throttles: 5 });
    } finally {
      await db.close();
    }
    // Of each model ten, five of which expire later than in a day.
    const left = await world.rows('select model, count(*)::int as left from auth.oidc_payloads group by 1 order by 1');
    expect(left).toEqual([
      { model: 'Client', left: 8 },
      { model: 'Grant', left: 10 },
      { model: 'Interaction', left: 8 },
    ]);
    expect(await world.rows('select 1 from auth.throttles')).toHaveLength(3);
  });
});

describe('a flood of authorizations and registrations', () => {
  it('deletes its own rows before those of a person who is signing in', async () => {
    await world.rows('delete from auth.oidc_payloads');
    await world.rows('delete from auth.throttles');
    const person = new Browser(world.stack.addresses.authHttp);
    const { body } = await register(person);
    const { page } = await person.open(authorizePath(body.client_id, pkce().challenge));
    for (let n = 0; n < 10; n++) {
      const attacker = new Browser(world.stack.addresses.authHttp);
      const client = await register(attacker);
      // Nobody follows the redirect with the cookie.
      expect((await attacker.send(authorizePath(client.body.client_id, pkce().challenge))).status).toBe(303);
    }
    const db = new Database({ name: 'auth', url: serviceUrl(world.databaseUrl), maxConnections: 1, log, pipeline: true });
    try {
      const most = { Interaction: 3, Client: 3, ReplayDetection: 3 };
      await db.transact(directoryScope(workFor(5_000)), (query) => deleteExcess(query, 100, most));
    } finally {
      await db.close();
    }
    const left = await world.rows('select model, count(*)::int as left from auth.oidc_payloads group by 1 order by 1');
    expect(left).toEqual([
      { model: 'Client', left: 3 },
      { model: 'Interaction', left: 3 },
    ]);
    const consent = await signIn(person, page, PERSON);
    expect((await person.submit(consent.page, { decision: 'allow' })).away?.searchParams.get('code')).toBeTruthy();
  });

  it('that follows its redirects takes turns with people, by age', async () => {
    await world.rows('delete from auth.oidc_payloads');
    await world.rows(
      `insert into auth.oidc_payloads (model, id_digest, payload_encrypted, expires_at, browser_returned)
        select 'Interaction', sha256(n::text::bytea), '', now() + n * interval '1 minute', true from generate_series(1, 5) n`,
    );
    const db = new Database({ name: 'auth', url: serviceUrl(world.databaseUrl), maxConnections: 1, log, pipeline: true });
    try {
      const most = { Interaction: 3, Client: 3, ReplayDetection: 3 };
      await db.transact(directoryScope(workFor(5_000)), (query) => deleteExcess(query, 100, most));
    } finally {
      await db.close();
    }
    const left = await world.rows<{ minutes: number }>(
      'select round(extract(epoch from expires_at - now()) / 60)::int as minutes from auth.oidc_payloads order by 1',
    );
    expect(left.map(({ minutes }) => minutes)).toEqual([3, 4, 5]);
  });
});

describe('a client id', () => {
  it('reveals nothing of others: only a whole id finds a registered client', async () => {
    const browser = new Browser(world.stack.addresses.authHttp);
    const { body } = await register(browser);
    for (const id of [
      body.client_id.slice(0, -1),
      `${body.client_id}x`,
      body.client_id.toUpperCase(),
      'client_',
      '%',
      'https://',
    ])
      expect((await browser.send(authorizePath(id, pkce().challenge, { redirect_uri: CALLBACK }))).status).toBe(400);
  });
});
