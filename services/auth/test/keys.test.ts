import { beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '@crs/kit/api-key';
import { tenant } from '@crs/testing/world';
import { failureOf, organization, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX, NOWHERE] = [tenant('acme'), tenant('globex'), tenant('nowhere')];

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([ACME, GLOBEX].map((id) => organization(id)));
});

const create = async (
  tenant = ACME,
  options: { label?: string; expiresInSeconds?: number; rights?: string[]; networks?: string[] } = {},
) =>
  world.operator.auth.createKey(
    { label: '', expiresInSeconds: 0, rights: [], networks: [], ...options },
    await world.operate(tenant),
  );
const list = async (tenant = ACME) => (await world.operator.auth.listKeys({}, await world.operate(tenant))).apiKeys;
const revoke = async (keyId: string, tenant = ACME) =>
  (await world.operator.auth.revokeKey({ keyId }, await world.operate(tenant))).apiKey!;
const MAX_SECONDS = 36_500 * 86_400;

describe('a new key', () => {
  it('is shown once, and stored as a digest with a short prefix', async () => {
    const { apiKey, secret } = await create(ACME, {
      label: 'Für ☎',
      rights: ['delete', 'read'],
      networks: ['203.0.113.0/24', '2001:db8::1'],
    });
    expect(apiKey).toEqual({
      keyId: expect.stringMatching(/^key_[0-9A-Za-z]{16}$/),
      prefix: secret.slice(0, 10),
      label: 'Für ☎',
      rights: ['read', 'delete'],
      networks: ['203.0.113.0/24', '2001:db8::1/128'],
      createdAt: expect.any(Date),
      expiresAt: undefined,
      revokedAt: undefined,
      lastUsedAt: undefined,
    });
    expect(await list()).toContainEqual(apiKey);
    const stored = await world.rows(
      `select a::text || d::text as row from auth.api_keys a join auth.key_directory d using (key_id) where a.digest = $1`,
      [digestOf(secret)],
    );
    expect(stored).toHaveLength(1);
    expect(stored[0]!['row']).not.toContain(secret.slice(10));
    expect(world.log.join('')).not.toContain(secret.slice(10));
  });

  it('expires at the requested time, or never', async () => {
    for (const seconds of [1, 90 * 86_400, 2_147_483_647, 2_147_483_648, MAX_SECONDS]) {
      const { apiKey } = await create(ACME, { expiresInSeconds: seconds });
      expect(apiKey!.expiresAt!.getTime() - apiKey!.createdAt!.getTime(), `${seconds} s`).toBe(seconds * 1000);
    }
    expect(await failureOf(create(ACME, { expiresInSeconds: MAX_SECONDS + 1 }))).toMatchObject({
      kind: 'invalid_argument',
      field: 'expires_in',
    });
  });

  it('may read and write, from everywhere, unless it is created with other rights and networks', async () => {
    expect((await create()).apiKey).toMatchObject({ rights: ['read', 'write'], networks: [] });
    expect(await failureOf(create(ACME, { rights: ['read', 'admin'] }))).toMatchObject({ field: 'rights' });
  });

  it.each([['203.0.113.1/24'], ['2001:db8::1/64'], ['300.0.0.1'], ['10.0.0.0/33'], ['::/129'], ['example.com'], ['10'], ['']])(
    'is refused with the network %j',
    async (network) => {
      expect(await failureOf(create(ACME, { networks: [network] }))).toMatchObject({
        kind: 'invalid_argument',
        field: 'networks',
      });
    },
  );

  it('has at most 100 networks', async () => {
    const networks = Array.from({ length: 101 }, (_, i) => `10.0.${i}.0/24`);
    expect((await create(ACME, { networks: networks.slice(1) })).apiKey!.networks).toEqual(networks.slice(1));
    expect(await failureOf(create(ACME, { networks }))).toMatchObject({ kind: 'invalid_argument', field: 'networks' });
  });

  it('has a label of at most 100 characters', async () => {
    expect((await create(ACME, { label: '😀'.repeat(100) })).apiKey!.label).toBe('😀'.repeat(100));
    for (const label of ['😀'.repeat(101), 'a\u0000b']) {
      expect(await failureOf(create(ACME, { label }))).toMatchObject({ kind: 'invalid_argument', field: 'label' });
    }
  });

  it('needs an existing organization, and is not stored without one', async () => {
    expect((await failureOf(create(NOWHERE)))?.kind).toBe('not_found');
    expect((await failureOf(list(NOWHERE)))?.kind).toBe('not_found');
    expect(await world.rows('select 1 from auth.key_directory where organization = $1', [NOWHERE])).toEqual([]);
  });
});

describe('the list of keys', () => {
  it('is newest first, includes revoked and expired keys, and has only keys of the organization', async () => {
    const createdIds = [];
    for (const label of ['one', 'two', 'three']) createdIds.push((await create(GLOBEX, { label })).apiKey!.keyId);
    await revoke(createdIds[1]!, GLOBEX);
    await world.rows('update auth.api_keys set expires_at = created_at where key_id = $1', [createdIds[0]]);
    const keys = await list(GLOBEX);
    expect(keys.map(({ label }) => label)).toEqual(['three', 'two', 'one']);
    expect(keys.map(({ revokedAt }) => revokedAt !== undefined)).toEqual([false, true, false]);
    expect((await list(ACME)).map(({ keyId }) => keyId)).not.toEqual(expect.arrayContaining(createdIds));
  });
});

describe('revoking a key', () => {
  it('again changes nothing: the time of the first revocation stays', async () => {
    const { apiKey } = await create();
    const first = await revoke(apiKey!.keyId);
    expect(first).toEqual({ ...apiKey, revokedAt: expect.any(Date) });
    expect(await revoke(apiKey!.keyId)).toEqual(first);
  });

  it('returns not_found for a key of another organization, as for an unknown one', async () => {
    const { apiKey } = await create(GLOBEX);
    for (const keyId of [apiKey!.keyId, 'key_', 'x'.repeat(100)])
      expect((await failureOf(revoke(keyId)))?.kind, keyId).toBe('not_found');
    for (const keyId of ['', 'x'.repeat(101), 'a\u0000b']) {
      expect(await failureOf(revoke(keyId))).toMatchObject({ kind: 'invalid_argument', field: 'key_id' });
    }
    expect((await list(GLOBEX)).find(({ keyId }) => keyId === apiKey!.keyId)!.revokedAt).toBeUndefined();
  });
});
