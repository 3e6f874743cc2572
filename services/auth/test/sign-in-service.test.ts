import { decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database, type Query } from '@crs/kit/data/database';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { deleteExcess, deleteExpired } from '../src/store/oidc-payloads.ts';
import { ANN, failureOf, organization, serviceUrl, startAuthWorld, TENANTS, user, type AuthWorld } from './_fixtures.ts';
import { startReplica } from './_replica.ts';
import { authorizePath, Browser, CALLBACK, connectAssistant, pkce, refresh, register, signIn } from './_sign-in.ts';

const PERSON = { organization: 'acme', email: ANN, password: 'correct horse battery' };
/** The limit of payloads per model, in these tests. */
const MOST = { Interaction: 3, Client: 3, ReplayDetection: 3, UsedAssertion: 3 };

/** Not the shared environment: these tests delete the sign-in state of everybody, and replace the key that signs tokens. */
let world: AuthWorld;
let db: Database;
beforeAll(async () => {
  const twins = TENANTS.flatMap((id) => [organization(id), user(id, ANN, { password: PERSON.password })]);
  world = await startAuthWorld(twins);
  const log = createLogger('auth', { level: 'silent' });
  db = new Database({ name: 'auth', url: serviceUrl(world.databaseUrl), maxConnections: 1, log, pipeline: true });
});
afterAll(async () => {
  await db?.close();
  await world?.close();
});

const transact = <T>(work: (query: Query) => Promise<T>) => db.transact(directoryScope(workFor(5_000)), work);
const isGood = async (accessToken: string) =>
  (await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }))) === undefined;

describe('over https', () => {
  it('cookies belong to this host alone, and no script or other site can read them', async () => {
    const { http, stop } = await startReplica(world, { toolsUrl: 'https://tools.example' });
    try {
      const browser = new Browser(http);
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
      expect(Object.fromEntries(page.headers)).toMatchObject({
        'content-security-policy': expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
        'x-frame-options': 'DENY',
        'cache-control': 'no-store',
      });
    } finally {
      await stop();
    }
  });
});

describe('two replicas', () => {
  it('serve the requests of one sign-in in turn, and sign with a new key without a restart', async () => {
    const { http, stop } = await startReplica(world);
    const b = new Browser(world.stack.addresses.authHttp, http);
    const { clientId, tokens } = await connectAssistant(b, PERSON);
    const renewed = await refresh(b, clientId, tokens.refresh_token);
    expect(renewed.status).toBe(200);
    try {
      const kid = (token: string) => decodeProtectedHeader(token).kid;
      const published = async (address: string) => JSON.parse((await new Browser(address).send('/jwks')).text);
      const idsOf = async (address: string) => (await published(address)).keys.map((key: { kid: string }) => key.kid);
      const { keyId } = await world.operator.auth.rotateTokenKey({}, await world.operate());
      // An announced key doesn't sign yet.
      for (const address of [world.stack.addresses.authHttp, http])
        await expect.poll(() => idsOf(address)).toEqual([kid(tokens.access_token), keyId]);
      await world.rows('update auth.token_keys set sign_from = now() where key_id = $1', [keyId]);
      for (const address of [world.stack.addresses.authHttp, http])
        await expect.poll(() => idsOf(address)).toEqual([keyId, kid(tokens.access_token)]);
      const after = await refresh(b, clientId, renewed.body.refresh_token);
      expect(kid(after.body.access_token)).toBe(keyId);
      for (const token of [tokens, renewed.body, after.body]) expect(await isGood(token.access_token)).toBe(true);
      expect(JSON.stringify(await published(http))).not.toContain('"d"');
    } finally {
      await stop();
    }
  });
});

// From here on there are rows that no secret decrypts, so no further replica would start.
describe('expired sign-in state', () => {
  it('is deleted in batches, and nothing else is', async () => {
    await world.rows('delete from auth.oidc_payloads');
    await world.rows(`update auth.throttles set resets_at = now() - interval '1 minute'`);
    const text = `insert into auth.oidc_payloads (model, id_digest, payload_encrypted, expires_at)
      select 'Session', sha256(n::text::bytea), '', now() + (n - 7.5) * interval '1 minute' from generate_series(1, 10) n`;
    // One transaction, because auth deletes expired rows at any time.
    const deleted = await transact(async (query) => {
      await query({ name: 'insert_sessions', text, values: [] });
      return [await deleteExpired(query, 4), await deleteExpired(query, 4)];
    });
    expect(deleted.map(({ payloads }) => payloads)).toEqual([4, 3]);
    const [{ left } = { left: 0 }] = await world.rows<{ left: number }>('select count(*)::int as left from auth.oidc_payloads');
    expect(left).toBe(3);
    expect(await world.rows('select 1 from auth.throttles')).toEqual([]);
  });
});

describe('data stored for unauthenticated clients', () => {
  it('is small: a long state and other large parameters are refused', async () => {
    const browser = new Browser(world.stack.addresses.authHttp);
    const { body } = await register(browser);
    const begin = (more: Record<string, string>) => browser.open(authorizePath(body.client_id, pkce().challenge, more));
    expect((await begin({ state: 'x'.repeat(2_048) })).page.text).toContain('name="email"');
    await world.rows('delete from auth.oidc_payloads where model <> $1', ['Client']);
    const long = await begin({ state: 'x'.repeat(2_049) });
    expect(long.externalUrl?.searchParams.get('error_description')).toContain('state must have at most 2048 characters');
    const large = await begin({ login_hint: 'x'.repeat(8_192) });
    expect(large.externalUrl?.searchParams.get('error')).toBe('invalid_request');
    expect(await world.rows(`select 1 from auth.oidc_payloads where model <> 'Client'`)).toEqual([]);
    const client = await register(browser, { client_name: 'x'.repeat(8_192) });
    expect([client.status, client.body.error]).toEqual([400, 'invalid_request']);
  });

  it('is only an Interaction, not a Session, until somebody signs in', async () => {
    const browser = new Browser(world.stack.addresses.authHttp);
    const { body } = await register(browser);
    await world.rows('delete from auth.oidc_payloads where model <> $1', ['Client']);
    await browser.open(authorizePath(body.client_id, pkce().challenge));
    const stored = await world.rows(`select distinct model from auth.oidc_payloads where model <> 'Client'`);
    expect(stored).toEqual([{ model: 'Interaction' }]);
  });

  it('is bounded in total, while data that a user has consented to is kept', async () => {
    await world.rows('delete from auth.oidc_payloads');
    await world.rows('delete from auth.throttles');
    await world.rows(
      `insert into auth.oidc_payloads (model, id_digest, payload_encrypted, expires_at)
        select model, sha256(n::text::bytea), '', now() + n * interval '1 hour'
        from generate_series(20, 29) n, unnest(array['Interaction', 'Client', 'Grant', 'UsedAssertion']) model`,
    );
    await world.rows(
      `insert into auth.throttles (bucket, tries, resets_at) select n::text::bytea, 1, now() + interval '1 hour' from generate_series(1, 9) n`,
    );
    const clean = (limit: number) => transact((query) => deleteExcess(query, limit, MOST, 3));
    expect(await clean(1)).toEqual({ payloads: 1, throttles: 1 });
    expect(await clean(100)).toEqual({ payloads: 1, throttles: 5 });
    // Each model had ten rows, and five of them expire in more than a day.
    const left = await world.rows('select model, count(*)::int as left from auth.oidc_payloads group by 1 order by 1');
    expect(left).toEqual([
      { model: 'Client', left: 8 },
      { model: 'Grant', left: 10 },
      { model: 'Interaction', left: 8 },
      { model: 'UsedAssertion', left: 8 },
    ]);
    expect(await world.rows('select 1 from auth.throttles')).toHaveLength(3);
  });
});

describe('a flood of authorizations and registrations', () => {
  it('loses its own rows before a person who is signing in loses any', async () => {
    await world.rows('delete from auth.oidc_payloads');
    await world.rows('delete from auth.throttles');
    const person = new Browser(world.stack.addresses.authHttp);
    const { body } = await register(person);
    const { page } = await person.open(authorizePath(body.client_id, pkce().challenge));
    for (let n = 0; n < 10; n++) {
      const attacker = new Browser(world.stack.addresses.authHttp);
      const client = await register(attacker);
      // The attacker doesn't follow the redirect with the cookie.
      expect((await attacker.send(authorizePath(client.body.client_id, pkce().challenge))).status).toBe(303);
    }
    await transact((query) => deleteExcess(query, 100, MOST));
    const left = await world.rows('select model, count(*)::int as left from auth.oidc_payloads group by 1 order by 1');
    expect(left).toEqual([
      { model: 'Client', left: 3 },
      { model: 'Interaction', left: 3 },
    ]);
    const consent = await signIn(person, page, PERSON);
    expect((await person.submit(consent.page, { decision: 'allow' })).externalUrl?.searchParams.get('code')).toBeTruthy();
  });

  it('that follows its redirects loses rows like people do, the oldest first', async () => {
    await world.rows('delete from auth.oidc_payloads');
    await world.rows(
      `insert into auth.oidc_payloads (model, id_digest, payload_encrypted, expires_at, browser_returned)
        select 'Interaction', sha256(n::text::bytea), '', now() + n * interval '1 minute', true from generate_series(1, 5) n`,
    );
    await transact((query) => deleteExcess(query, 100, MOST));
    const left = await world.rows<{ minutes: number }>(
      'select round(extract(epoch from expires_at - now()) / 60)::int as minutes from auth.oidc_payloads order by 1',
    );
    expect(left.map(({ minutes }) => minutes)).toEqual([3, 4, 5]);
  });
});

describe('a client id', () => {
  it('reveals nothing about other clients: only a whole id finds a registered client', async () => {
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
