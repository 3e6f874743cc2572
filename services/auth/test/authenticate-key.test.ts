import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { createApiKey, digestOf } from '@crs/kit/api-key';
import type { OrganizationIdentity } from '@crs/kit/rpc/identity';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { tenant } from '@crs/testing/world';
import { failureOf, organization, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX, INITECH] = [tenant('acme'), tenant('globex'), tenant('initech')];

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([ACME, GLOBEX].map((id) => organization(id)));
});

/** @returns auth's response, with the caller token for `calls` */
const authenticate = async (apiKey: string) => {
  const { callerTokens, ...rest } = await world.auth.authenticateKey({ apiKey, audiences: ['calls'] });
  return { ...rest, callerToken: callerTokens['calls']! };
};
const identityIn = (token: string) => decodeJwt<{ identity: OrganizationIdentity }>(token).identity;
const REFUSED = {
  kind: 'unauthenticated',
  reason: 'INVALID_API_KEY',
  message: 'The API key is missing, unknown, expired or revoked.',
};

describe('a valid key', () => {
  it('yields its own organization, with its rights', async () => {
    for (const tenant of [ACME, GLOBEX]) {
      const key = await world.createKey(tenant);
      const { callerToken, ...rest } = await authenticate(key);
      expect(rest).toEqual({
        organizationId: tenant,
        keyId: expect.stringMatching(/^key_[0-9A-Za-z]{16}$/),
        rateLimit: { requests: 600, periodSeconds: 60 },
        deleteLimit: 1_000,
        writeSurface: false,
        rights: ['read', 'write'],
        networks: [],
      });
      expect(identityIn(callerToken)).toEqual({
        kind: 'organization',
        organization: tenant,
        keyId: expect.stringMatching(/^key_[0-9A-Za-z]{16}$/),
        allowedFields: DEFAULT_ALLOWED_FIELDS,
        anonymize: false,
        writeSurface: false,
        rights: ['read', 'write'],
      });
    }
  });

  it('yields a caller token that is valid for thirty seconds', async () => {
    const { callerToken } = await authenticate(await world.createKey(ACME));
    const { iat, exp } = decodeJwt(callerToken);
    expect(exp! - iat!).toBe(30);
    expect(Math.abs(iat! - Date.now() / 1000)).toBeLessThan(5);
  });

  it('yields its rights and networks', async () => {
    const limits = { rights: ['read', 'ingest'], networks: ['203.0.113.0/24'] };
    const { callerToken, rights, networks } = await authenticate(await world.createKey(ACME, limits));
    expect({ rights, networks }).toEqual(limits);
    expect(identityIn(callerToken).rights).toEqual(limits.rights);
  });

  it('never yields another organization, even if both have a key with the same id', async () => {
    const [acme, globex] = [await world.createKey(ACME), await world.createKey(GLOBEX)];
    for (const key of [acme, globex]) {
      await world.rows(`update auth.key_directory set key_id = 'key_same' where digest = $1`, [digestOf(key)]);
      await world.rows(`update auth.api_keys set key_id = 'key_same' where digest = $1`, [digestOf(key)]);
    }
    expect(identityIn((await authenticate(acme)).callerToken).organization).toBe(ACME);
    expect(identityIn((await authenticate(globex)).callerToken).organization).toBe(GLOBEX);
    await world.operator.auth.revokeKey({ keyId: 'key_same' }, await world.operate(GLOBEX));
    expect(await failureOf(authenticate(globex))).toEqual(REFUSED);
    expect((await authenticate(acme)).organizationId).toBe(ACME);
  });

  it('carries the current settings of its organization, and never those of another', async () => {
    const [acme, globex] = [await world.createKey(ACME), await world.createKey(GLOBEX)];
    const settings = {
      writeSurface: true,
      anonymizeInterviewees: true,
      allowedFields: { default: false, fields: ['summary'] },
      rateLimit: { requests: 7, periodSeconds: 11 },
      toolRateLimit: undefined,
      deleteLimit: undefined,
      oidcProvider: undefined,
      assertionIssuers: undefined,
    };
    await world.operator.auth.updateOrganization({ settings }, await world.operate(ACME));
    const changed = await authenticate(acme);
    expect(changed).toMatchObject({ writeSurface: true, rateLimit: { requests: 7, periodSeconds: 11 } });
    expect(identityIn(changed.callerToken)).toMatchObject({ writeSurface: true, anonymize: true, allowedFields: ['summary'] });
    const other = await authenticate(globex);
    expect(other).toMatchObject({ writeSurface: false, rateLimit: { requests: 600, periodSeconds: 60 } });
    expect(identityIn(other.callerToken)).toMatchObject({ anonymize: false, allowedFields: DEFAULT_ALLOWED_FIELDS });

    const none = { ...settings, writeSurface: false, allowedFields: { default: false, fields: [] } };
    await world.operator.auth.updateOrganization({ settings: none }, await world.operate(ACME));
    const again = await authenticate(acme);
    expect(again.writeSurface).toBe(false);
    expect(identityIn(again.callerToken)).toMatchObject({ writeSurface: false, allowedFields: [] });
  });
});

describe('a key', () => {
  it.each(['', 'crk_', 'x', `crk_${'0'.repeat(39)}`, `cro_${'0'.repeat(39)}`, 'crk_\u0000', 'x'.repeat(100_000)])(
    'is refused when malformed (%#)',
    async (key) => expect(await failureOf(authenticate(key))).toEqual(REFUSED),
  );

  it('is refused when unknown', async () => {
    expect(await failureOf(authenticate(createApiKey()))).toEqual(REFUSED);
  });

  it('with one wrong character is refused by its checksum, without a query', async () => {
    const key = await world.createKey(ACME);
    const typo = key.slice(0, 10) + (key[10] === 'x' ? 'y' : 'x') + key.slice(11);
    // A query would find this key.
    await world.rows(`update auth.key_directory set digest = $2 where digest = $1`, [digestOf(key), digestOf(typo)]);
    const sent: (string | undefined)[] = [];
    const stop = interceptStatements((statement) => {
      sent.push(statement.name);
      return statement;
    });
    try {
      expect(await failureOf(authenticate(typo))).toEqual(REFUSED);
      expect(sent).not.toContain('look_up_key');
      expect(await failureOf(authenticate(key))).toEqual(REFUSED);
      expect(sent).toContain('look_up_key');
    } finally {
      stop();
    }
  });

  it('is accepted until it expires, and then refused', async () => {
    const key = await world.createKey(ACME, { expiresInSeconds: 60 });
    const longer = await world.createKey(ACME, { expiresInSeconds: 60 });
    expect((await authenticate(key)).organizationId).toBe(ACME);
    await world.rows('update auth.api_keys set expires_at = now() where digest = $1', [digestOf(key)]);
    expect(await failureOf(authenticate(key))).toEqual(REFUSED);
    expect((await authenticate(longer)).organizationId).toBe(ACME);
  });

  it('is refused from its revocation on, while other keys are still accepted', async () => {
    const [key, other] = [await world.createKey(ACME), await world.createKey(ACME)];
    const { callerToken } = await authenticate(key);
    await world.operator.auth.revokeKey({ keyId: identityIn(callerToken).keyId }, await world.operate(ACME));
    expect(await failureOf(authenticate(key))).toEqual(REFUSED);
    expect((await authenticate(other)).organizationId).toBe(ACME);
  });

  it('is refused when its organization no longer exists', async () => {
    await world.load([organization(INITECH)]);
    const key = await world.createKey(INITECH);
    await world.rows('delete from auth.organizations where organization = $1', [INITECH]);
    expect(await failureOf(authenticate(key))).toEqual(REFUSED);
  });
});

describe('the last use of a key', () => {
  let key: string;
  beforeAll(async () => {
    key = await world.createKey(ACME);
  });
  const lastUse = async () => {
    const text = 'select last_used_at as "at", now() - last_used_at < $2::interval as fresh from auth.api_keys where digest = $1';
    const [row] = await world.rows<{ at: Date | null; fresh: boolean | null }>(text, [digestOf(key), '10 seconds']);
    return row!;
  };
  const usedAgo = (ago: string) =>
    world.rows('update auth.api_keys set last_used_at = now() - $2::interval where digest = $1', [digestOf(key), ago]);

  it('is absent before the first use', async () => {
    expect((await lastUse()).at).toBeNull();
  });

  it('is written once at the first use, even if many requests come at the same time', async () => {
    await world.rows(`create table public.writes (key_id text);
      create function public.count_write() returns trigger language plpgsql security definer
        as 'begin insert into public.writes values (new.key_id); return new; end';
      create trigger count_writes after update of last_used_at on auth.api_keys for each row execute function public.count_write()`);
    try {
      await Promise.all(Array.from({ length: 10 }, () => authenticate(key)));
      await expect.poll(async () => (await lastUse()).fresh).toBe(true);
      await sleep(100);
      expect(await world.rows('select 1 from public.writes')).toHaveLength(1);
    } finally {
      await world.rows('drop function public.count_write cascade; drop table public.writes');
    }
  });

  it('is not written again within a minute', async () => {
    await usedAgo('55 seconds');
    const before = await lastUse();
    for (let i = 0; i < 5; i++) await authenticate(key);
    await sleep(100);
    expect(await lastUse()).toEqual(before);
  });

  it('is written again after a minute', async () => {
    await usedAgo('61 seconds');
    await authenticate(key);
    await expect.poll(async () => (await lastUse()).fresh).toBe(true);
  });

  it('is not written for a refused key', async () => {
    const expired = await world.createKey(ACME, { expiresInSeconds: 60 });
    await world.rows(`update auth.api_keys set expires_at = now() where digest = $1`, [digestOf(expired)]);
    await failureOf(authenticate(expired));
    await sleep(100);
    const [row] = await world.rows<{ at: Date | null }>('select last_used_at as "at" from auth.api_keys where digest = $1', [
      digestOf(expired),
    ]);
    expect(row!.at).toBeNull();
  });
});
