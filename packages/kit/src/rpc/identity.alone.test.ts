import { exportJWK, exportPKCS8, generateKeyPair, SignJWT, type CryptoKey, type JWTPayload } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ServiceError, unavailable } from '../errors.ts';
import { createVerifier, signIdentity, type Identity, type Verifier } from './identity.ts';

const ANN: Identity = { kind: 'user', organization: 'acme', userId: 'ann', scopes: ['calls:read'] };

interface Pair {
  publicJwk: string;
  privateKey: CryptoKey;
}

async function makePair(): Promise<Pair> {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { extractable: true });
  return { publicJwk: JSON.stringify(await exportJWK(publicKey)), privateKey };
}

const [first, second] = await Promise.all([makePair(), makePair()]);

/** The keys that `source` returns. `fetches` counts how often the verifier called it. */
let published: Map<string, string>;
let fetches: number;
let source: () => Promise<Map<string, string>>;
let verify: Verifier;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  published = new Map([['k1', first.publicJwk]]);
  fetches = 0;
  source = async () => published;
  verify = createVerifier('calls', () => {
    fetches++;
    return source();
  });
});
afterEach(() => vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTime(ms);
const kindOf = (outcome: Promise<unknown>) =>
  outcome.then(
    () => 'admitted',
    (error: unknown) => (error instanceof ServiceError ? error.kind : 'not a ServiceError'),
  );

/** A token as auth issues it, with the given claims and header fields replaced, signed with `key`. */
function forge(claims: JWTPayload = {}, header: object = {}, key: CryptoKey | Uint8Array = first.privateKey): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ identity: ANN, iss: 'call-research', aud: 'call-research/internal', iat: now, exp: now + 30, ...claims })
    .setProtectedHeader({ alg: 'EdDSA', kid: 'k1', ...header })
    .sign(key);
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

const SINCE = '2026-01-01T00:00:00.000Z';

describe('a verifier', () => {
  it.each<Identity>([
    ANN,
    { kind: 'operator', name: 'olga', since: SINCE },
    { kind: 'operator', name: 'olga', since: SINCE, organization: 'acme' },
    {
      kind: 'organization',
      organization: 'acme',
      keyId: 'k',
      allowedFields: ['summary'],
      anonymize: true,
      writeSurface: false,
      rights: ['read'],
    },
  ])('returns the identity in the token exactly as it was signed: $kind', async (identity) => {
    expect(await verify(await signIdentity(identity, 'calls', 'k1', first.privateKey, 30))).toEqual(identity);
  });

  it('admits a token from forge() without alterations', async () => {
    expect(await kindOf(verify(await forge()))).toBe('admitted');
  });

  it.each([
    ['its own service', 'call-research/calls'],
    ['its own service among others', ['call-research/calls', 'call-research/auth']],
    ['every service, as in operator tokens', 'call-research/internal'],
  ])('admits a token whose audience is %s', async (_, aud) => {
    expect(await kindOf(verify(await forge({ aud })))).toBe('admitted');
  });

  it('refuses a token for another service', async () => {
    const token = await signIdentity(ANN, 'projects', 'k1', first.privateKey, 30);
    expect(await kindOf(verify(token))).toBe('unauthenticated');
  });

  it('refuses a token whose key id is missing or not published', async () => {
    expect(await kindOf(verify(await forge({}, { kid: 'k2' })))).toBe('unauthenticated');
    expect(await kindOf(verify(await forge({}, { kid: undefined })))).toBe('unauthenticated');
    expect(await kindOf(verify(await forge({}, { kid: '__proto__' })))).toBe('unauthenticated');
  });

  it('refuses a token that another key signed under a published key id', async () => {
    expect(await kindOf(verify(await forge({}, {}, second.privateKey)))).toBe('unauthenticated');
  });

  it.each([
    ['a token with an unknown audience', { aud: 'call-research' }],
    ['a token for another service', { aud: 'call-research/projects' }],
    ['a token without an audience', { aud: undefined }],
    ['a token with an empty list of audiences', { aud: [] }],
    ['a token of another issuer', { iss: 'elsewhere' }],
    ['a token without an issuer', { iss: undefined }],
    ['a token that is not valid yet', { nbf: Math.floor(Date.now() / 1000) + 3600 }],
    ['a token without an expiry', { exp: undefined }],
    ['a token without an identity', { identity: undefined }],
  ])('refuses %s', async (_, claims) => {
    expect(await kindOf(verify(await forge(claims)))).toBe('unauthenticated');
  });

  it('refuses other algorithms, such as none, and HS256 with the public key as its secret', async () => {
    const [, body] = (await forge()).split('.');
    expect(await kindOf(verify(`${part({ alg: 'none', kid: 'k1' })}.${body}.`))).toBe('unauthenticated');
    expect(await kindOf(verify(await forge({}, { alg: 'HS256' }, Buffer.from(first.publicJwk))))).toBe('unauthenticated');
    const { privateKey } = await generateKeyPair('ES256');
    expect(await kindOf(verify(await forge({}, { alg: 'ES256' }, privateKey)))).toBe('unauthenticated');
  });

  it('refuses a token with any part changed, even right after it admitted the original', async () => {
    const token = await forge();
    await verify(token);
    const [header, , signature] = token.split('.') as [string, string, string];
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: 'call-research', aud: 'call-research/internal', iat: now, exp: now + 30 };
    const promoted = part({ identity: { ...ANN, organization: 'globex' }, ...claims });
    expect(await kindOf(verify(`${header}.${promoted}.${signature}`))).toBe('unauthenticated');
    for (const at of [3, header.length + 5, token.length - 20]) {
      const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
      expect(await kindOf(verify(changed)), `character ${at}`).toBe('unauthenticated');
    }
  });

  it.each(['', 'x', '..', 'a.b.c', `${part({})}.${part({})}.`, '\u0000', 'e30.e30.e30.e30.e30'])(
    'refuses %j, which is not a token',
    async (token) => {
      expect(await kindOf(verify(token))).toBe('unauthenticated');
    },
  );

  it('refuses a token from the second at which it expires, cached or not', async () => {
    vi.setSystemTime('2026-01-01T00:00:00.000Z');
    const [cached, fresh] = [await forge(), await forge({ jti: 'other' })];
    await verify(cached);
    pass(29_999);
    expect(await kindOf(verify(cached))).toBe('admitted');
    pass(1);
    expect(await kindOf(verify(cached))).toBe('unauthenticated');
    expect(await kindOf(verify(fresh))).toBe('unauthenticated');
  });
});

describe('the keys of a verifier', () => {
  it('are fetched once, even if many tokens arrive before they are loaded', async () => {
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, i) => forge({ jti: String(i) })));
    await Promise.all(tokens.map(verify));
    await verify(await forge({ jti: 'later' }));
    expect(fetches).toBe(1);
  });

  it('are fetched again for an unknown key id, at most once a second', async () => {
    await verify(await forge());
    const verifyUnknownKeyId = () => forge({}, { kid: crypto.randomUUID() }).then((token) => kindOf(verify(token)));
    pass(1_000);
    for (let i = 0; i < 10; i++) expect(await verifyUnknownKeyId()).toBe('unauthenticated');
    expect(fetches).toBe(1);
    pass(1);
    expect(await Promise.all(Array.from({ length: 10 }, verifyUnknownKeyId))).toEqual(Array(10).fill('unauthenticated'));
    expect(fetches).toBe(2);
    pass(1_001);
    await verifyUnknownKeyId();
    expect(fetches).toBe(3);
  });

  it('include a new key as soon as a token signed with it arrives', async () => {
    await verify(await forge());
    published.set('k2', second.publicJwk);
    pass(1_001);
    expect(await verify(await forge({}, { kid: 'k2' }, second.privateKey))).toEqual(ANN);
    expect(await verify(await forge({ jti: 'old key' }))).toEqual(ANN);
    expect(fetches).toBe(2);
  });

  it('no longer include a retired key after a second, and cached tokens of that key are refused', async () => {
    const token = await forge();
    await verify(token);
    published = new Map([['k2', second.publicJwk]]);
    pass(1_001);
    // This call starts a background fetch, and still uses the cached key.
    expect(await kindOf(verify(token))).toBe('admitted');
    await expect.poll(() => kindOf(verify(token))).toBe('unauthenticated');
    expect(await kindOf(verify(await forge({ jti: 'not seen yet' })))).toBe('unauthenticated');
    expect(fetches).toBe(2);
  });

  it('are fetched before they are used again after a pause of more than 5 s', async () => {
    const token = await forge();
    await verify(token);
    published = new Map([['k2', second.publicJwk]]);
    pass(5_001);
    expect(await kindOf(verify(token))).toBe('unauthenticated');
  });

  it('are used for five minutes while auth is unavailable, with at most one fetch a second', async () => {
    const token = await forge({ exp: Math.floor(Date.now() / 1000) + 600 });
    await verify(token);
    source = () => Promise.reject(unavailable('The auth service is not available.'));
    pass(299_000);
    for (let i = 0; i < 10; i++) expect(await kindOf(verify(token))).toBe('admitted');
    expect(fetches).toBe(2);
    pass(1_001);
    expect(await kindOf(verify(token))).toBe('unavailable');
  });

  it('make verification fail as unavailable while they cannot be fetched, rather than refuse a good token', async () => {
    source = () => Promise.reject(unavailable('The auth service is not available.'));
    expect(await kindOf(verify(await forge()))).toBe('unavailable');
    source = () => Promise.reject(new Error('whatever a key source may throw'));
    expect(await kindOf(verify(await forge()))).toBe('unavailable');
    source = async () => published;
    expect(await kindOf(verify(await forge()))).toBe('admitted');
  });

  it('stay in use for new tokens too while auth is unavailable', async () => {
    const token = await forge();
    await verify(token);
    source = () => Promise.reject(unavailable('The auth service is not available.'));
    pass(10_000);
    expect(await kindOf(verify(token))).toBe('admitted');
    expect(await kindOf(verify(await forge({ jti: 'not seen yet' })))).toBe('admitted');
  });
});

it('a published key has no private part', async () => {
  expect(JSON.parse(first.publicJwk)).not.toHaveProperty('d');
  expect(await exportPKCS8(first.privateKey)).toContain('PRIVATE KEY');
});
