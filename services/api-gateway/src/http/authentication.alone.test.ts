import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
import { createLogger } from '@crs/kit/process/log';
import { LookUps } from '@crs/kit/http/look-ups';
import { RequestQueue } from '@crs/kit/http/request-queue';
import type { Check, RateLimiter } from '@crs/kit/limits/limiter';
import { ServiceError, unavailable } from '@crs/kit/errors';
import type { CallOptions, ServiceClient } from '@crs/kit/rpc/client';
import type { AuthenticateKeyResponse, AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { Credentials } from './authentication.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const invalidKey = () => new ServiceError('unauthenticated', 'unknown', { reason: 'INVALID_API_KEY' });

/** A fake auth service that returns the number of the call as the key id. If `fail` returns an error, it throws that instead. */
function fakeAuth({ latencyMs = 0, fail = (_callNumber: number): Error | undefined => undefined } = {}) {
  const authCalls: { apiKey: string; deadline: number | undefined; signal: AbortSignal | undefined }[] = [];
  const authenticateKey = async ({ apiKey }: { apiKey: string }, { deadline, signal }: CallOptions = {}) => {
    const callNumber = authCalls.push({ apiKey, deadline, signal });
    await new Promise((resolve) => setTimeout(resolve, latencyMs));
    const error = fail(callNumber);
    if (error) throw error;
    return { keyId: `answer ${callNumber}` } as AuthenticateKeyResponse;
  };
  return { authCalls, client: { authenticateKey } as unknown as ServiceClient<AuthServiceService> };
}

/** The result of a look-up, and how long it took: `answer 1 after 0 ms`. */
async function outcomeOf(answer: Promise<AuthenticateKeyResponse>): Promise<string> {
  const started = performance.now();
  const outcome = await answer.then(
    ({ keyId }) => keyId,
    (error) => error.kind,
  );
  return `${outcome} after ${performance.now() - started} ms`;
}

/** Advances the clock until all look-ups are settled. @returns their outcomes */
async function settle(...answers: Promise<AuthenticateKeyResponse>[]): Promise<string[]> {
  const outcomes = Promise.all(answers.map(outcomeOf));
  let isSettled = false;
  void outcomes.then(() => (isSettled = true));
  while (!isSettled) await vi.advanceTimersByTimeAsync(10);
  return outcomes;
}

/** Looks up at most three unknown keys of one address at a time, and four of all addresses. */
function credentialsOf(client: ServiceClient<AuthServiceService>): Credentials {
  const limiter = { isUsedUp: () => false } as unknown as RateLimiter;
  const queue = new RequestQueue({ concurrency: 4, perKey: 32, tenantMetrics: false });
  return new Credentials(client, new LookUps(limiter, queue), createLogger('test', { level: 'silent' }));
}

const checkOf = (id: string): Check => ({ kind: 'address', id, rule: { requests: 60, periodSeconds: 60 } });
const from = (address = '192.0.2.1') => ({ deadline: Date.now() + 5_000, check: checkOf(address) });

const key = createApiKey();
const header = `Bearer ${key}`;

describe('an Authorization header', () => {
  it.each([
    ['a missing header', undefined],
    ['an empty header', ''],
    ['no key', 'Bearer'],
    ['a key without its scheme', key],
    ['another scheme', `Basic ${key}`],
    ['two keys', `Bearer ${key} ${key}`],
    ['another word', 'Bearer secret'],
    ['a typo', `Bearer ${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`],
    ['a key cut short', `Bearer ${key.slice(0, -1)}`],
    ['a key with trailing text', `Bearer ${key}x`],
    ['a key in another case', `Bearer ${key.toUpperCase()}`],
  ])('without a well-formed key gets 401 without a call to auth: %s', async (_, authorization) => {
    const { client, authCalls } = fakeAuth();
    await expect(credentialsOf(client).resolve(authorization, from())).rejects.toMatchObject({
      status: 401,
      code: 'unauthorized',
    });
    expect(authCalls).toHaveLength(0);
  });

  it.each(['Bearer  ', 'bearer ', 'BEARER    '])('with "%s" before the key is accepted', async (scheme) => {
    const { client } = fakeAuth();
    await expect(settle(credentialsOf(client).resolve(scheme + key, from()))).resolves.toEqual(['answer 1 after 0 ms']);
  });
});

describe('a key in use', () => {
  it('is looked up once a second', async () => {
    const { client, authCalls } = fakeAuth();
    const credentials = credentialsOf(client);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(980);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(10);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 2 after 0 ms']);
    expect(authCalls).toHaveLength(2);
  });

  it('is cached separately from other keys', async () => {
    const { client, authCalls } = fakeAuth();
    const credentials = credentialsOf(client);
    const other = createApiKey();
    for (const each of [key, other, key, other]) await settle(credentials.resolve(`Bearer ${each}`, from()));
    expect(authCalls.map(({ apiKey }) => apiKey)).toEqual([key, other]);
  });

  it('is cached for a second from the start of its look-up, not from the end', async () => {
    const { client } = fakeAuth({ latencyMs: 600 });
    const credentials = credentialsOf(client);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 600 ms']);
    await vi.advanceTimersByTimeAsync(380);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(20);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 2 after 600 ms']);
  });

  it('is looked up once for all concurrent requests', async () => {
    const { client, authCalls } = fakeAuth({ latencyMs: 500 });
    const credentials = credentialsOf(client);
    const outcomes = await settle(...Array.from({ length: 50 }, () => credentials.resolve(header, from())));
    expect(new Set(outcomes)).toEqual(new Set(['answer 1 after 500 ms']));
    expect(authCalls).toHaveLength(1);
  });

  it('is looked up with the deadline of the first request, but without its abort signal, because others may join', async () => {
    const { client, authCalls } = fakeAuth();
    await settle(credentialsOf(client).resolve(header, { ...from(), deadline: 12345 }));
    expect(authCalls).toEqual([{ apiKey: key, deadline: 12345, signal: undefined }]);
  });
});

describe('a look-up that takes more than a second', () => {
  it('is repeated, once, for the requests that joined it later', async () => {
    const { client, authCalls } = fakeAuth({ latencyMs: 1_200 });
    const credentials = credentialsOf(client);
    const first = outcomeOf(credentials.resolve(header, from()));
    await vi.advanceTimersByTimeAsync(100);
    const late = await settle(...Array.from({ length: 20 }, () => credentials.resolve(header, from())));
    expect(await first).toBe('answer 1 after 1200 ms');
    expect(new Set(late)).toEqual(new Set(['answer 2 after 2300 ms']));
    expect(authCalls).toHaveLength(2);
  });
});

describe('a key that auth refuses', () => {
  it('is cached as refused for a second', async () => {
    const { client, authCalls } = fakeAuth({ fail: (callNumber) => (callNumber === 1 ? invalidKey() : undefined) });
    const credentials = credentialsOf(client);
    for (let n = 0; n < 5; n++) expect(await settle(credentials.resolve(header, from()))).toEqual(['unauthenticated after 0 ms']);
    expect(authCalls).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 2 after 0 ms']);
  });
});

describe('an outage of auth', () => {
  it('is not cached', async () => {
    const { client } = fakeAuth({ fail: (callNumber) => (callNumber === 1 ? unavailable('down') : undefined) });
    const credentials = credentialsOf(client);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['unavailable after 0 ms']);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 2 after 0 ms']);
  });

  it('does not affect a cached key until its second is over', async () => {
    const { client, authCalls } = fakeAuth({ fail: (callNumber) => (callNumber > 1 ? unavailable('down') : undefined) });
    const credentials = credentialsOf(client);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(900);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(100);
    for (let n = 0; n < 3; n++) expect(await settle(credentials.resolve(header, from()))).toEqual(['unavailable after 0 ms']);
    expect(authCalls).toHaveLength(4);
  });

  it('fails all requests that share the look-up', async () => {
    const { client, authCalls } = fakeAuth({ latencyMs: 100, fail: () => unavailable('down') });
    const credentials = credentialsOf(client);
    const outcomes = await settle(...Array.from({ length: 10 }, () => credentials.resolve(header, from())));
    expect(new Set(outcomes)).toEqual(new Set(['unavailable after 100 ms']));
    expect(authCalls).toHaveLength(1);
  });
});

describe('keys that are not cached', () => {
  const guess = () => `Bearer ${createApiKey()}`;

  it('queue per address: keys from other addresses don’t wait', async () => {
    const { client, authCalls } = fakeAuth({ latencyMs: 100, fail: invalidKey });
    const credentials = credentialsOf(client);
    const guesses = settle(...Array.from({ length: 5 }, () => credentials.resolve(guess(), from())));
    const other = outcomeOf(credentials.resolve(guess(), from('192.0.2.2')));
    expect(await guesses).toEqual([
      'unauthenticated after 100 ms',
      'unauthenticated after 100 ms',
      'unauthenticated after 100 ms',
      'unauthenticated after 200 ms',
      'unauthenticated after 200 ms',
    ]);
    expect(await other).toBe('unauthenticated after 100 ms');
    expect(authCalls).toHaveLength(6);
  });

  it('don’t delay a key from the same address that was valid before, even after an outage', async () => {
    const { client } = fakeAuth({ latencyMs: 100, fail: (callNumber) => (callNumber === 2 ? unavailable('down') : undefined) });
    const credentials = credentialsOf(client);
    await settle(credentials.resolve(header, from()));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['unavailable after 100 ms']);
    const guesses = Array.from({ length: 5 }, () => outcomeOf(credentials.resolve(guess(), from())));
    expect((await settle(credentials.resolve(header, from())))[0]).toMatch(/^answer \d after 100 ms$/);
    await vi.advanceTimersByTimeAsync(1_000);
    await Promise.all(guesses);
  });
});
