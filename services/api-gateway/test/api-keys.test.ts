import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
import { KEY_RIGHTS } from '@crs/kit/rpc/key-rights';
import type { RestResponse } from '@crs/testing/rest';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { comparable } from './_answers.ts';

/** The time after its acknowledgement within which a change must take effect. */
const EFFECTIVE_AFTER_MS = 1_000;

const [ACME, GLOBEX, SURFACE] = [tenant('acme'), tenant('globex'), tenant('surface')];
/** Organizations that each belong to the one test that changes it. */
const [REVOKING, EXPIRING, GATING, LIMITING] = ['revoking', 'expiring', 'gating', 'limiting'].map(tenant) as [
  string,
  string,
  string,
  string,
];
const ORGANIZATIONS = [ACME, GLOBEX, REVOKING, EXPIRING, GATING, LIMITING];

let world: World;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load([
    { type: 'organization', id: SURFACE, write_surface: true },
    { type: 'call', organization: SURFACE, id: 'call_1' },
    ...ORGANIZATIONS.map((id) => ({
      type: 'organization',
      id,
      name: id,
      rate_limit: { requests: 100_000, period_seconds: 60 },
    })),
    ...ORGANIZATIONS.map((organization) => ({ type: 'call', organization, id: 'call_1', summary: `of ${organization}` })),
  ]);
});

const CALL = '/v1/calls/call_1';
const getCall = (authorization: string) => world.rest(CALL, { headers: { authorization } });

describe('a key', () => {
  it('identifies its organization', async () => {
    for (const organization of [ACME, GLOBEX]) {
      for (const rights of [['read'], ['read', 'write']]) {
        const key = await world.createKey(organization, { rights });
        expect((await world.rest(CALL, { key })).json.summary).toBe(`of ${organization}`);
      }
    }
  });

  it('that is missing, mistyped, unknown or revoked gets the same 401', async () => {
    const missing = await world.rest(CALL);
    expect(missing.status).toBe(401);
    expect(missing.headers.get('www-authenticate')).toBe('Bearer');
    expect(missing.json.error.code).toBe('unauthorized');
    const key = await world.createKey(ACME);
    const typo = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
    const { keyId, secret: revoked } = await createKey(ACME);
    await revokeKey(ACME, keyId);
    for (const authorization of [
      'Bearer',
      `Basic ${key}`,
      key,
      `Bearer ${typo}`,
      `Bearer ${key} x`,
      `Bearer ${createApiKey()}`,
      `Bearer ${revoked}`,
    ]) {
      expect(comparable(await getCall(authorization)), authorization).toEqual(comparable(missing));
    }
  });

  it('in the query string is ignored', async () => {
    expect((await world.rest(`${CALL}?access_token=${await world.createKey(ACME)}`)).status).toBe(401);
  });
});

describe('a key with networks', () => {
  it('is refused from other addresses with a message that names the address, and is audited once a minute', async () => {
    const here = ['127.0.0.0/8', '::1'];
    for (const organization of [ACME, GLOBEX]) {
      const elsewhere = await world.createKey(organization, { networks: ['203.0.113.0/24'] });
      for (let n = 0; n < 3; n++) {
        const { status, json, headers } = await world.rest(CALL, { key: elsewhere });
        expect([status, json.error.code]).toEqual([401, 'unauthorized']);
        expect(json.error.message).toMatch(/may not be used from the address \S*127\.0\.0\.1/);
        // Charged to the address, whose limit is lower.
        expect(headers.get('x-ratelimit-limit')).not.toBe('100000');
      }
      const refusals = async () => {
        const { entries } = await world.operator.auth.listAudit({ limit: 20 }, await world.operator.operator(organization));
        return entries.filter(({ action }) => action === 'key.refuse').map(({ count, address }) => [count, address]);
      };
      await expect.poll(refusals).toEqual([[3, '127.0.0.1']]);
      expect((await world.rest(CALL, { key: await world.createKey(organization, { networks: here }) })).status).toBe(200);
    }
  });
});

describe('each single right', () => {
  const ROUTES = [
    ['read', 'get', CALL],
    ['read', 'get', '/v1/calls?start_date=2026-01-01T00:00:00Z&end_date=2027-01-01T00:00:00Z'],
    ['read', 'get', '/v1/changes'],
    ['read', 'get', '/v1/changes?types=project'],
    ['read', 'get', '/v1/entities'],
    ['read', 'get', '/v1/projects'],
    ['read', 'get', '/v1/billing-offices'],
    ['read', 'get', `/v1/projects/${randomUUID()}`],
    ['write', 'post', '/v1/projects'],
  ] as const;

  it.each(KEY_RIGHTS)('%s admits exactly the operations that need it', async (right) => {
    const key = await world.createKey(SURFACE, { rights: [right] });
    for (const [needed, method, path] of ROUTES) {
      const { json } = await world.rest(path, { key, method });
      const refusal =
        json.error?.message ===
        `This API key doesn't have the right "${needed}". Use one of your organization's keys that has it.`;
      expect(refusal, `${method} ${path}`).toBe(needed !== right);
    }
  });
});

async function createKey(organization: string) {
  const request = { label: '', rights: [], networks: [], expiresInSeconds: 3_600 };
  const { apiKey, secret } = await world.operator.auth.createKey(request, await world.operator.operator(organization));
  return { keyId: apiKey!.keyId, secret };
}

async function revokeKey(organization: string, keyId: string) {
  await world.operator.auth.revokeKey({ keyId }, await world.operator.operator(organization));
}

/**
 * Makes a change right after the gateway has cached auth's response for a key, and sends requests until the change shows. Asserts that
 * only requests sent within EFFECTIVE_AFTER_MS after the change got the old response.
 * @returns the response before the change, and the first ones that show it
 */
async function aroundChange(
  key: string,
  change: () => Promise<unknown>,
  isChanged: (answer: RestResponse) => boolean,
): Promise<{ before: RestResponse; after: RestResponse[] }> {
  const before = await world.rest(CALL, { key });
  expect(before.status).toBe(200);
  await change();
  const changedAt = performance.now();
  const after: RestResponse[] = [];
  while (after.length < 3) {
    const sentAt = performance.now();
    const answer = await world.rest(CALL, { key });
    if (isChanged(answer)) after.push(answer);
    else {
      expect(after).toEqual([]);
      expect(sentAt - changedAt).toBeLessThan(EFFECTIVE_AFTER_MS);
    }
  }
  return { before, after };
}

describe.concurrent('within a second of the acknowledgement, under constant traffic,', () => {
  const isUnauthorized = ({ status }: RestResponse) => status === 401;

  it('a revoked key is refused, but another key of the organization still works', async () => {
    const { keyId, secret } = await createKey(REVOKING);
    await aroundChange(secret, () => revokeKey(REVOKING, keyId), isUnauthorized);
    expect((await world.rest(CALL, { key: await world.createKey(REVOKING) })).status).toBe(200);
  });

  it('an expired key is refused', async () => {
    const { keyId, secret } = await createKey(EXPIRING);
    const expire = () =>
      world.query('update auth.api_keys set expires_at = now() where organization = $1 and key_id = $2', [EXPIRING, keyId]);
    await aroundChange(secret, expire, isUnauthorized);
  });

  it('a field that is switched off is absent, but only for this organization', async () => {
    const key = await world.createKey(GATING);
    const settings = { type: 'organization', id: GATING, name: 'gating', allowed_fields: ['rating'] };
    const isWithout = ({ json }: RestResponse) => !('summary' in json);
    const { before } = await aroundChange(key, () => world.load([settings]), isWithout);
    expect(before.json.summary).toBe(`of ${GATING}`);
    expect((await world.rest(CALL, { key: await world.createKey(GLOBEX) })).json.summary).toBe(`of ${GLOBEX}`);
  });

  it('a smaller rate limit applies', async () => {
    const key = await world.createKey(LIMITING);
    const rateLimit = { requests: 1, period_seconds: 3600 };
    const settings = { type: 'organization', id: LIMITING, name: 'limiting', rate_limit: rateLimit };
    const limitOf = ({ headers }: RestResponse) => headers.get('x-ratelimit-limit');
    const change = () => world.load([settings]);
    const { before, after } = await aroundChange(key, change, (answer) => limitOf(answer) === '1');
    expect(limitOf(before)).toBe('100000');
    // The new limit has its own counter, which the first of these requests uses up.
    expect(after.map(({ status }) => status)).toEqual([200, 429, 429]);
  });
});
