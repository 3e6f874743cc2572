import { decodeJwt, decodeProtectedHeader } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Database, type Query } from '@crs/kit/data/database';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { parseSecrets } from '@crs/kit/process/secrets';
import { SECRET } from '@crs/testing/setup';
import { tenant, TOOLS_URL } from '@crs/testing/world';
import { AccessTokens } from '../src/keys/access-tokens.ts';
import { KeyRing } from '../src/keys/key-ring.ts';
import { createEncrypters } from '../src/keys/encrypters.ts';
import {
  ANN,
  BOB,
  emptyDatabase,
  failureOf,
  organization,
  serviceUrl,
  sharedAuthWorld,
  user,
  type SharedAuthWorld,
} from './_fixtures.ts';

const [ACME, GLOBEX, NOWHERE] = [tenant('acme'), tenant('globex'), tenant('nowhere')];

const ALL = ['calls:read', 'projects:read', 'entities:read'];
const DAY = 86_400;
const MAX_SECONDS = 3_650 * DAY;
/** The refusal of every bad token, whatever the reason. */
const REFUSED = {
  kind: 'unauthenticated',
  reason: 'INVALID_ACCESS_TOKEN',
  message: 'The access token is unknown, expired or revoked.',
};

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([ACME, GLOBEX].flatMap((id) => [organization(id), user(id, ANN), user(id, BOB)]));
});

const create = async (options: { email?: string; scopes?: string[]; expiresInSeconds?: number } = {}, tenant = ACME) => {
  const request = { email: ANN, scopes: [], expiresInSeconds: 0, ...options };
  const { token, accessToken } = await world.operator.auth.createToken(request, await world.operate(tenant));
  return { token: token!, accessToken };
};
const list = async (tenant = ACME) => (await world.operator.auth.listTokens({}, await world.operate(tenant))).tokens;
const revoke = async (tokenId: string, tenant = ACME) =>
  (await world.operator.auth.revokeToken({ tokenId }, await world.operate(tenant))).token!;
const authenticate = (accessToken: string) => world.auth.authenticateToken({ accessToken, audiences: ['calls'] });
const auditOf = async (tokenId: string) =>
  (
    await world.rows<{ entry: string }>(
      `select concat_ws(' ', organization, actor, action, target) as entry from auth.audit where target like $1 || '%' order by audit_id`,
      [tokenId],
    )
  ).map(({ entry }) => entry);

describe('a new token', () => {
  it('is an RFC 9068 access token for the tools only, and is not stored', async () => {
    const { token, accessToken } = await create();
    expect(token).toEqual({
      tokenId: expect.stringMatching(/^grant_[0-9A-Za-z]{16}$/),
      kind: 'operator',
      email: ANN,
      client: 'crs token create',
      scopes: ALL,
      createdAt: expect.any(Date),
      expiresAt: expect.any(Date),
      revokedAt: undefined,
    });
    expect(decodeProtectedHeader(accessToken)).toMatchObject({ alg: 'EdDSA', typ: 'at+jwt', kid: expect.any(String) });
    const { userId } = await authenticate(accessToken);
    expect(decodeJwt(accessToken)).toMatchObject({
      iss: TOOLS_URL,
      aud: `${TOOLS_URL}/mcp`,
      sub: userId,
      organization: ACME,
      scope: ALL.join(' '),
      jti: token.tokenId,
      exp: token.expiresAt!.getTime() / 1000,
    });
    const signature = accessToken.split('.')[2]!;
    const stored = await world.rows('select grants::text as row from auth.grants union all select audit::text from auth.audit');
    expect(JSON.stringify(stored)).not.toContain(signature);
    expect(world.log.join('')).not.toContain(signature);
    expect(JSON.stringify(await list())).not.toContain(signature);
    expect(await auditOf(token.tokenId)).toEqual([`${ACME} local token.create ${token.tokenId} ${ANN}`]);
  });

  it('has the requested scopes, once each, or all', async () => {
    expect((await create({ scopes: ['entities:read', 'calls:read', 'entities:read'] })).token.scopes).toEqual([
      'calls:read',
      'entities:read',
    ]);
    for (const scopes of [
      ['calls:write'],
      ['calls:read', 'nope'],
      [''],
      ['calls:read projects:read'],
      ['CALLS:READ'],
      ['offline_access'],
    ])
      expect(await failureOf(create({ scopes })), scopes.join()).toMatchObject({ kind: 'invalid_argument', field: 'scope' });
  });

  it('expires at the requested time, or after 30 days', async () => {
    for (const [requested, seconds] of [
      [0, 30 * DAY],
      [1, 1],
      [MAX_SECONDS, MAX_SECONDS],
    ] as const) {
      const { token } = await create({ expiresInSeconds: requested });
      // A token ends at a whole second, so it may live up to a second less.
      const lived = (token.expiresAt!.getTime() - token.createdAt!.getTime()) / 1000;
      expect(Math.abs(lived - seconds), `${requested} s`).toBeLessThanOrEqual(1);
    }
    for (const expiresInSeconds of [MAX_SECONDS + 1, Number.MAX_SAFE_INTEGER])
      expect(await failureOf(create({ expiresInSeconds }))).toMatchObject({ kind: 'invalid_argument', field: 'expires_in' });
  });

  it('needs an enabled user of the organization, whose e-mail may be in any letter case', async () => {
    expect((await create({ email: ANN.toUpperCase() })).token.email).toBe(ANN);
    expect((await failureOf(create({ email: 'nobody@example.com' })))?.kind).toBe('not_found');
    expect((await failureOf(create({}, NOWHERE)))?.kind).toBe('not_found');
    for (const email of ['', 'ab', 'x'.repeat(255), 'a\u0000@b'])
      expect(await failureOf(create({ email }))).toMatchObject({ kind: 'invalid_argument', field: 'email' });

    const operator = await world.operate(ACME);
    const before = (await list()).length;
    await world.operator.auth.setUserDisabled({ email: BOB, disabled: true }, operator);
    expect(await failureOf(create({ email: BOB }))).toMatchObject({ kind: 'failed_precondition' });
    expect(await list()).toHaveLength(before);
    expect((await create({ email: BOB }, GLOBEX)).token.email).toBe(BOB);
    await world.operator.auth.setUserDisabled({ email: BOB, disabled: false }, operator);
  });
});

describe('the list of tokens', () => {
  it('is newest first, includes revoked and expired tokens, and has only tokens of the organization', async () => {
    const createdIds: string[] = [];
    for (const email of [ANN, BOB, ANN]) createdIds.push((await create({ email }, GLOBEX)).token.tokenId);
    const revoked = await revoke(createdIds[1]!, GLOBEX);
    await world.rows('update auth.grants set expires_at = created_at where grant_id = $1', [createdIds[0]]);
    const tokens = (await list(GLOBEX)).filter(({ tokenId }) => createdIds.includes(tokenId));
    expect(tokens.map(({ tokenId }) => tokenId)).toEqual(createdIds.toReversed());
    expect(tokens[1]).toEqual(revoked);
    const here = (await list(ACME)).map(({ tokenId }) => tokenId);
    expect(createdIds.filter((tokenId) => here.includes(tokenId))).toEqual([]);
    expect((await failureOf(list(NOWHERE)))?.kind).toBe('not_found');
  });
});

describe('revoking a token', () => {
  it('again changes nothing: the time of the first revocation stays', async () => {
    const { token } = await create();
    const first = await revoke(token.tokenId);
    expect(first).toEqual({ ...token, revokedAt: expect.any(Date) });
    expect((await auditOf(token.tokenId)).slice(1)).toEqual([`${ACME} local token.revoke ${token.tokenId}`]);
    expect(await revoke(token.tokenId)).toEqual(first);
  });

  it('returns not_found for a token of another organization, as for an unknown one', async () => {
    const { token, accessToken } = await create({}, GLOBEX);
    for (const tokenId of [token.tokenId, 'grant_', 'x'.repeat(100)])
      expect((await failureOf(revoke(tokenId)))?.kind, tokenId).toBe('not_found');
    for (const tokenId of ['', 'x'.repeat(101), 'a\u0000b'])
      expect(await failureOf(revoke(tokenId))).toMatchObject({ kind: 'invalid_argument', field: 'token_id' });
    expect((await authenticate(accessToken)).organizationId).toBe(GLOBEX);
    expect(await auditOf(token.tokenId)).toHaveLength(1);
  });
});

describe('AuthenticateToken', () => {
  let token: Awaited<ReturnType<typeof create>>;
  beforeEach(async () => {
    token = await create({ scopes: ['calls:read'] });
  });
  const goodAgain = async () => expect((await authenticate(token.accessToken)).organizationId).toBe(ACME);

  it("returns the user, the scopes and the organization's limit", async () => {
    await world.load([organization(ACME, { tool_rate_limit: { requests: 7, period_seconds: 11 } })]);
    const [found] = await world.rows('select user_id from auth.users where organization = $1 and email = $2', [ACME, ANN]);
    expect(await authenticate(token.accessToken)).toEqual({
      callerTokens: { calls: expect.any(String) },
      organizationId: ACME,
      userId: found!['user_id'],
      scopes: ['calls:read'],
      rateLimit: { requests: 7, periodSeconds: 11 },
      grantId: token.token.tokenId,
      clientId: '',
    });
  });

  it('returns the same error for every invalid or changed token', async () => {
    const { accessToken } = token;
    const { callerTokens } = await authenticate(accessToken);
    const [header, payload, signature] = accessToken.split('.') as [string, string, string];
    const other = (await create({}, GLOBEX)).accessToken.split('.')[1]!;
    const bad = [
      ...['', 'x', 'a.b.c', '..', 'x'.repeat(8_000), callerTokens['calls']!, await world.createKey(ACME)],
      `${header}.${other}.${signature}`,
      `${header}.${payload}.`,
      `${header}.${payload}.${signature.slice(1)}`,
      `${accessToken}.`,
    ];
    for (const each of bad) expect(await failureOf(authenticate(each)), each.slice(0, 40)).toEqual(REFUSED);
  });

  it('refuses a token once it is revoked, for good', async () => {
    await goodAgain();
    await revoke(token.token.tokenId);
    expect(await failureOf(authenticate(token.accessToken))).toEqual(REFUSED);
    expect((await authenticate((await create()).accessToken)).organizationId).toBe(ACME);
  });

  it('refuses a token after the end of its grant, even if the token itself is still valid', async () => {
    await world.rows('update auth.grants set expires_at = now() where grant_id = $1', [token.token.tokenId]);
    expect(await failureOf(authenticate(token.accessToken))).toEqual(REFUSED);
  });

  it('refuses a token once its user is disabled, also after the user is enabled again', async () => {
    const operator = await world.operate(ACME);
    await world.operator.auth.setUserDisabled({ email: ANN, disabled: true }, operator);
    expect(await failureOf(authenticate(token.accessToken))).toEqual(REFUSED);
    await world.operator.auth.setUserDisabled({ email: ANN, disabled: false }, operator);
    expect(await failureOf(authenticate(token.accessToken))).toEqual(REFUSED);
  });

  it('refuses a token whose grant belongs to another user', async () => {
    const { token: bobs } = await create({ email: BOB });
    const swap = `update auth.grants g set user_id = u.user_id from auth.users u
      where g.organization = u.organization and g.grant_id = $1 and u.email = $2`;
    await world.rows(swap, [token.token.tokenId, bobs.email]);
    expect(await failureOf(authenticate(token.accessToken))).toEqual(REFUSED);
  });
});

describe('the keys that sign access tokens', () => {
  it('are created once for all replicas, and unusable with another secret', async () => {
    const database = await emptyDatabase();
    const log = createLogger('auth', { level: 'silent' });
    const db = new Database({ name: 'auth', url: serviceUrl(database.url), maxConnections: 4, log, pipeline: true });
    try {
      const ring = (secret = SECRET) => new KeyRing('token_key', db, createEncrypters(parseSecrets(secret)), log);
      const replica = (secret = SECRET, url = TOOLS_URL) => new AccessTokens(ring(secret), url);
      const run: Query = (statement) => db.run(directoryScope(workFor(5_000)), statement);
      const who = { organization: 'acme', grantId: 'grant_1', userId: crypto.randomUUID(), scopes: ALL };
      const soon = new Date(Date.now() + 60_000);
      const signers = [replica(), replica(), replica()];
      const tokens = await Promise.all(signers.map((each) => each.sign(run, who, soon)));
      expect(new Set(tokens.map((each) => decodeProtectedHeader(each).kid)).size).toBe(1);
      expect(await replica().verify(tokens[0]!)).toEqual({ ...who, clientId: '' });
      expect(await failureOf(replica(SECRET, 'http://elsewhere.example').verify(tokens[0]!))).toEqual(REFUSED);
      const stranger = await failureOf(replica('x'.repeat(40)).verify(tokens[0]!));
      expect(stranger?.reason).not.toBe(REFUSED.reason);
      // The keys are loaded again while they are listed. The authorization server refuses a set that has a key twice.
      const [before, after] = [ring(), ring()];
      after.current = () => before.current();
      const listed = (await new AccessTokens(after, TOOLS_URL).keys()).map(({ keyId }) => keyId);
      expect(listed).toEqual([...new Set(listed)]);
    } finally {
      await db.close();
      await database.drop();
    }
  });
});
