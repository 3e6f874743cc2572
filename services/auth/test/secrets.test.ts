import { decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '@crs/kit/process/log';
import { parseSecrets } from '@crs/kit/process/secrets';
import { client } from '@crs/kit/rpc/client';
import { AuthAdminServiceService, SigningKeyKind, type OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { passTime } from '@crs/testing/pass-time';
import { SECRET } from '@crs/testing/setup';
import { TOOLS_URL } from '@crs/testing/world';
import { createAuthService } from '../src/service.ts';
import { ANN, failureOf, organization, serviceUrl, startAuthWorld, user, type AuthWorld } from './_fixtures.ts';
import { Browser, connectAssistant, refresh } from './_sign-in.ts';

const PASSWORD = 'correct horse battery';
const NEW = 'another-secret-that-is-long-enough-0123456789';
const ADDED = `0:${SECRET},b:${NEW}`;
const MOVED = `b:${NEW},0:${SECRET}`;
const DROPPED = `b:${NEW}`;

let world: AuthWorld;
beforeAll(async () => {
  world = await startAuthWorld([organization('acme'), user('acme', ANN, { password: PASSWORD })]);
});
afterAll(() => world?.close());

/** Starts another replica of auth, without waiting until it is ready. */
function begin(secrets: string) {
  const log: { msg: string; reason?: string }[] = [];
  const destination = { write: (line: string) => void log.push(JSON.parse(line)) };
  const service = createAuthService(
    {
      accessTokenSeconds: 86_400,
      listen: '127.0.0.1:0',
      adminListen: '127.0.0.1:0',
      httpListen: '127.0.0.1:0',
      databaseUrl: serviceUrl(world.databaseUrl),
      maxConnections: 2,
      secrets: parseSecrets(secrets),
      toolsUrl: TOOLS_URL,
    },
    { log: createLogger('auth', { destination }) },
  );
  const started = service.start();
  started.catch(() => {});
  return { started, stop: () => service.stop(), reasons: () => log.flatMap(({ reason }) => reason ?? []) };
}

/** Starts another replica of auth, and waits until it serves. */
async function replica(secrets: string) {
  const { started, stop } = begin(secrets);
  const { grpc, admin, http } = await started;
  const options = { name: 'auth', timeoutMs: 5_000, retry: false };
  const auth = client(AuthServiceService, { ...options, address: grpc });
  const operator = client(AuthAdminServiceService, { ...options, address: admin });
  const close = async () => {
    auth.close();
    operator.close();
    await stop();
  };
  return { auth, operator, browser: new Browser(http), http, close };
}

const status = async ({ operator }: Awaited<ReturnType<typeof replica>>) => {
  const { secrets } = await operator.getSecretStatus({}, await world.operate());
  return Object.fromEntries(secrets.map(({ secretId, seals, configured, values }) => [secretId, { seals, configured, values }]));
};

describe('a CRS_SECRET that does not fit the database', () => {
  it('keeps the service from being ready, and the log explains why', async () => {
    await world.createKey('acme');
    const wrong = begin(NEW);
    try {
      await expect
        .poll(() => wrong.reasons())
        .toEqual([
          'CRS_SECRET doesn\'t fit the database: its secret with the id "0" doesn\'t open a value of auth.token_keys. Add the secret that the value was sealed under.',
        ]);
    } finally {
      await wrong.stop();
    }
    await expect(wrong.started).rejects.toThrow();
  });
});

describe('the rotation of CRS_SECRET', () => {
  it(
    'signs nobody out, and is complete only once every value is encrypted with the new secret',
    { timeout: 60_000 },
    async () => {
      const { operator } = world;
      await operator.auth.createClient(
        { name: 'Ours', redirectUris: ['https://a.example/cb'], withSecret: true },
        await world.operate(),
      );
      const oidcProvider = { issuer: 'https://idp.example', clientId: 'crs', clientSecret: 'hush', domains: ['acme.example'] };
      await world.load([organization('globex')]);
      const settings = { oidcProvider } as OrganizationSettings;
      await operator.auth.updateOrganization({ settings }, await world.operate('globex'));
      const key = await world.createKey('acme');

      // Replicas with adjacent steps of the rotation run at the same time, as during a rollout.
      const first = world.stack.addresses.authHttp;
      const added = await replica(ADDED);
      const browser = new Browser(first, added.http);
      const { clientId, tokens } = await connectAssistant(browser, { organization: 'acme', email: ANN, password: PASSWORD });
      const moved = await replica(MOVED);
      const both = new Browser(added.http, moved.http);
      for (const [name, value] of browser.cookies) both.cookies.set(name, value);
      for (let turn = 0; turn < 2; turn++) expect((await both.open('/connections')).page.text).toContain('Claude');
      const second = await connectAssistant(both, { organization: 'acme', email: ANN, password: PASSWORD });
      for (const { auth } of [added, moved]) {
        expect((await auth.authenticateKey({ apiKey: key, audiences: ['calls'] })).organizationId).toBe('acme');
        for (const accessToken of [tokens.access_token, second.tokens.access_token])
          expect((await auth.authenticateToken({ accessToken, audiences: ['calls'] })).organizationId).toBe('acme');
      }
      await added.close();
      // A visit renews the signatures of the browser's cookies.
      const last = new Browser(moved.http);
      for (const [name, value] of both.cookies) last.cookies.set(name, value);
      expect((await last.open('/connections')).page.text).toContain('Claude');

      const before = await status(moved);
      expect(before['b']).toEqual({ seals: true, configured: true, values: expect.any(Number) });
      expect(before['0']!.values).toBeGreaterThan(5);
      const early = begin(DROPPED);
      await expect.poll(() => early.reasons().join()).toMatch(/"0"/);

      let resealed = 0;
      for (let done = false; !done;) {
        const step = await moved.operator.resealValues({}, await world.operate());
        resealed += step.resealed;
        done = step.done;
      }
      expect(resealed).toBe(before['0']!.values);
      expect(await status(moved)).toEqual({
        b: { seals: true, configured: true, values: before['b']!.values + resealed },
        '0': { seals: false, configured: true, values: 0 },
      });
      const audit = await world.rows<{ target: string }>(`select target from auth.audit where action = 'secret.reseal'`);
      expect(audit.map(({ target }) => target)).toEqual(
        expect.arrayContaining([
          '1 values of token_keys',
          '1 values of caller_keys',
          '1 values of clients',
          '1 values of organizations',
        ]),
      );

      // The replica that waited is ready by itself.
      const { http } = await early.started;
      const alone = new Browser(http);
      for (const [name, value] of last.cookies) alone.cookies.set(name, value);
      expect((await alone.open('/connections')).page.text).toContain('Claude');
      expect((await refresh(alone, clientId, tokens.refresh_token)).status).toBe(200);
      await early.stop();
      await moved.close();

      // A service isn't ready while values are encrypted under a secret that its list lacks.
      const forgotten = begin(SECRET);
      await expect
        .poll(() => forgotten.reasons())
        .toEqual([
          expect.stringMatching(
            /^CRS_SECRET has no secret with the id "b", under which 1 values of auth.token_keys are sealed: put /,
          ),
        ]);
      await forgotten.stop();
    },
  );
});

describe('signing keys', () => {
  const list = async () => (await world.operator.auth.listSigningKeys({}, await world.operate())).keys;
  const statesOf = async (kind: SigningKeyKind) =>
    (await list())
      .filter((key) => key.kind === kind)
      .map(({ keyId, state }) => [keyId, state.replace('SIGNING_KEY_STATE_', '').toLowerCase()]);
  const rotate = async (kind: SigningKeyKind) =>
    (await world.operator.auth.rotateSigningKey({ kind }, await world.operate())).keyId;
  const retire = async (keyId: string, force = false) =>
    world.operator.auth.retireSigningKey({ keyId, force }, await world.operate());
  /** Makes an announced key sign at once. */
  const sign = (table: string, keyId: string) =>
    world.rows(`update auth.${table} set sign_from = now() where key_id = $1`, [keyId]);
  const TOKEN = SigningKeyKind.SIGNING_KEY_KIND_TOKEN;
  const CALLER = SigningKeyKind.SIGNING_KEY_KIND_CALLER;

  it('that leaked can be retired: their tokens are refused within a second, and assistants continue with their refresh tokens', async () => {
    const browser = new Browser(world.stack.addresses.authHttp);
    const { clientId, tokens } = await connectAssistant(browser, { organization: 'acme', email: ANN, password: PASSWORD });
    const authenticate = (accessToken: string) => failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }));
    const before = (await statesOf(TOKEN)).filter(([, state]) => state !== 'retired');
    const old = decodeProtectedHeader(tokens.access_token).kid!;
    expect(before).toContainEqual([old, 'signing']);
    expect(await failureOf(retire(old, true))).toMatchObject({
      kind: 'failed_precondition',
      message: expect.stringMatching(/^This key signs\./),
    });

    const successor = await rotate(TOKEN);
    expect(await statesOf(TOKEN)).toEqual([[successor, 'announced'], ...before]);
    await sign('token_keys', successor);
    expect(await statesOf(TOKEN)).toEqual([
      [successor, 'signing'],
      [old, 'verifying'],
    ]);
    expect(await authenticate(tokens.access_token)).toBeUndefined();
    expect(await failureOf(retire(old))).toMatchObject({
      kind: 'failed_precondition',
      message: expect.stringMatching(/use --force\.$/),
    });

    await retire(old, true);
    passTime(1_001);
    expect(await authenticate(tokens.access_token)).toMatchObject({ kind: 'unauthenticated', reason: 'INVALID_ACCESS_TOKEN' });
    expect(await statesOf(TOKEN)).toEqual([
      [successor, 'signing'],
      [old, 'retired'],
    ]);
    const renewed = await refresh(browser, clientId, tokens.refresh_token);
    expect(renewed.status).toBe(200);
    expect(await authenticate(renewed.body.access_token)).toBeUndefined();
    const audit = await world.rows<{ entry: string }>(
      `select action || ' ' || target as entry from auth.audit where action like 'signing-key.%' order by audit_id`,
    );
    expect(audit.map(({ entry }) => entry)).toEqual(
      expect.arrayContaining([`signing-key.rotate ${successor}`, `signing-key.retire ${old}`]),
    );
  });

  it('are kept until the longest-lived token that they signed expires', async () => {
    const request = { email: ANN, scopes: [], expiresInSeconds: 90 * 86_400 };
    const { token, accessToken } = await world.operator.auth.createToken(request, await world.operate('acme'));
    const old = decodeProtectedHeader(accessToken).kid!;
    await sign('token_keys', await rotate(TOKEN));
    const listed = (await list()).find(({ keyId }) => keyId === old)!;
    expect(listed.retiresAt).toEqual(token!.expiresAt);
    // It still verifies, long after the tokens that it signed for assistants have expired.
    await world.rows(`update auth.token_keys set sign_from = sign_from - interval '10 days'`);
    passTime(1_001);
    expect(await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }))).toBeUndefined();
    await world.rows(`update auth.token_keys set protected_until = now() - interval '1 second' where key_id = $1`, [old]);
    passTime(1_001);
    expect((await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] })))?.kind).toBe('unauthenticated');
    expect(await statesOf(TOKEN)).toContainEqual([old, 'retired']);
  });

  it('that do not exist are refused', async () => {
    expect((await failureOf(retire('tk_nothing')))?.kind).toBe('not_found');
    expect(await failureOf(retire('nothing'))).toMatchObject({ kind: 'invalid_argument', field: 'key_id' });
    expect(await failureOf(rotate(SigningKeyKind.SIGNING_KEY_KIND_UNSPECIFIED))).toMatchObject({ field: 'kind' });
  });

  it('for caller tokens can be retired: within seconds, services refuse the tokens that they signed', async () => {
    const key = await world.createKey('acme');
    const { callerTokens } = await world.auth.authenticateKey({ apiKey: key, audiences: ['calls'] });
    const old = decodeProtectedHeader(callerTokens['calls']!).kid!;
    const use = () => failureOf(world.auth.getVisibleProjects({}, { token: callerTokens['calls'] }));
    const kindBefore = (await use())?.kind;
    expect(kindBefore).not.toBe('unauthenticated');
    await sign('caller_keys', await rotate(CALLER));
    await retire(old, true);
    await expect.poll(async () => (await use())?.kind, { timeout: 10_000 }).toBe('unauthenticated');
    const { callerTokens: next } = await world.auth.authenticateKey({ apiKey: key, audiences: ['calls'] });
    expect((await failureOf(world.auth.getVisibleProjects({}, { token: next['calls'] })))?.kind).toBe(kindBefore);
  });
});
