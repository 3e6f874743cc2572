import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
import type { RestResponse } from '@crs/testing/rest';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { comparable } from './_answers.ts';

/** A change must take effect this long after its acknowledgement. */
const GONE_AFTER_MS = 1_000;

/** Each of the last three belongs to the test that changes it. */
const ORGANIZATIONS = ['acme', 'globex', 'revoking', 'gating', 'limiting'];

let world: OwnWorld;

beforeAll(async () => {
  world = await startWorld();
  await world.load([
    ...ORGANIZATIONS.map((id) => ({
      type: 'organization',
      id,
      name: id,
      rate_limit: { requests: 100_000, period_seconds: 60 },
    })),
    ...ORGANIZATIONS.map((organization) => ({ type: 'call', organization, id: 'call_1', summary: `of ${organization}` })),
  ]);
});
afterAll(() => world?.close());

const CALL = '/v1/calls/call_1';
const asking = (authorization: string) => world.rest(CALL, { headers: { authorization } });

describe('a key', () => {
  it('identifies its organization', async () => {
    for (const organization of ['acme', 'globex']) {
      for (const readOnly of [false, true]) {
        const key = await world.createKey(organization, { readOnly });
        expect((await world.rest(CALL, { key })).json.summary).toBe(`of ${organization}`);
      }
    }
  });

  it.each(['bearer ', 'BEARER ', 'Bearer    '])('is read after "%s"', async (scheme) => {
    expect((await asking(scheme + (await world.createKey('acme')))).status).toBe(200);
  });

  it('that is missing, mistyped, unknown or revoked is refused in the same words', async () => {
    const missing = await world.rest(CALL);
    expect(missing.status).toBe(401);
    expect(missing.headers.get('www-authenticate')).toBe('Bearer');
    expect(missing.json.error.code).toBe('unauthorized');
    const key = await world.createKey('acme');
    const typo = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
    const { apiKey, secret: revoked } = await createKey('acme');
    await revokeKey('acme', apiKey!.keyId);
    for (const authorization of [
      'Bearer',
      `Basic ${key}`,
      key,
      `Bearer ${typo}`,
      `Bearer ${key} x`,
      `Bearer ${createApiKey()}`,
      `Bearer ${revoked}`,
    ]) {
      expect(comparable(await asking(authorization)), authorization).toEqual(comparable(missing));
    }
  });

  it('in the query is not read', async () => {
    expect((await world.rest(`${CALL}?access_token=${await world.createKey('acme')}`)).status).toBe(401);
  });
});

async function createKey(organization: string) {
  return world.operator.auth.createKey(
    { label: '', readOnly: false, expiresInSeconds: 0 },
    await world.operator.operator(organization),
  );
}

async function revokeKey(organization: string, keyId: string) {
  await world.operator.auth.revokeKey({ keyId }, await world.operator.operator(organization));
}

interface Asked {
  at: number;
  answer: RestResponse;
}

/** Asks without a pause around `change`. @returns the answers before the change, and those to requests sent after GONE_AFTER_MS */
async function aroundChange(
  key: string,
  change: () => Promise<unknown>,
): Promise<{ before: RestResponse[]; after: RestResponse[] }> {
  const answers: Asked[] = [];
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      const at = performance.now();
      answers.push({ at, answer: await world.rest(CALL, { key }) });
    }
  };
  const clients = [client(), client()];
  // The change comes right after the gateway has asked about the key, when it remembers the answer for longest.
  await vi.waitFor(() => expect(answers).not.toEqual([]), { timeout: 10_000, interval: 10 });
  const before = answers.map(({ answer }) => answer);
  await change();
  const gone = performance.now() + GONE_AFTER_MS;
  await sleep(GONE_AFTER_MS + 200);
  const after = () => answers.filter(({ at }) => at >= gone).map(({ answer }) => answer);
  await vi.waitFor(() => expect(after().length).toBeGreaterThan(10), { timeout: 10_000, interval: 20 });
  isOver = true;
  await Promise.all(clients);
  return { before, after: after() };
}

describe.concurrent('within a second of the acknowledgement, under constant traffic,', () => {
  it('a revoked key is refused, and another key of the organization is served', async () => {
    const { apiKey, secret } = await createKey('revoking');
    const { before, after } = await aroundChange(secret, () => revokeKey('revoking', apiKey!.keyId));
    expect(new Set(before.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([401]));
    expect((await world.rest(CALL, { key: await world.createKey('revoking') })).status).toBe(200);
  });

  it('a field that is switched off is absent, for this organization alone', async () => {
    const key = await world.createKey('gating');
    const settings = { type: 'organization', id: 'gating', name: 'gating', allowed_fields: ['rating'] };
    const { before, after } = await aroundChange(key, () => world.load([settings]));
    expect(before.every(({ json }) => json.summary === 'of gating')).toBe(true);
    expect(after.filter(({ json }) => 'summary' in json)).toEqual([]);
    expect((await world.rest(CALL, { key: await world.createKey('globex') })).json.summary).toBe('of globex');
  });

  it('a smaller rate limit applies', async () => {
    const key = await world.createKey('limiting');
    const settings = {
      type: 'organization',
      id: 'limiting',
      name: 'limiting',
      rate_limit: { requests: 1, period_seconds: 3600 },
    };
    const { before, after } = await aroundChange(key, () => world.load([settings]));
    expect(new Set(before.map(({ headers }) => headers.get('x-ratelimit-limit')))).toEqual(new Set(['100000']));
    expect(new Set(after.map(({ status, headers }) => `${status} ${headers.get('x-ratelimit-limit')}`))).toEqual(
      new Set(['429 1']),
    );
  });

  it('an expired key is refused', async () => {
    const key = await world.createKey('acme', { expiresInSeconds: 3 });
    const created = performance.now();
    for (let n = 0; n < 3; n++) {
      expect((await world.rest(CALL, { key })).status).toBe(200);
      await sleep(100);
    }
    await sleep(created + 3_000 + GONE_AFTER_MS - performance.now());
    expect((await world.rest(CALL, { key })).status).toBe(401);
  });
});
