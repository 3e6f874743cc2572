import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
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

/** An auth service that answers with the number of the question; `fail` decides what it throws instead. */
function fakeAuth({ latencyMs = 0, fail = (_question: number): Error | undefined => undefined } = {}) {
  const questions: { apiKey: string; deadline: number | undefined; signal: AbortSignal | undefined }[] = [];
  const authenticateKey = async ({ apiKey }: { apiKey: string }, { deadline, signal }: CallOptions = {}) => {
    const question = questions.push({ apiKey, deadline, signal });
    await new Promise((resolve) => setTimeout(resolve, latencyMs));
    const error = fail(question);
    if (error) throw error;
    return { keyId: `answer ${question}` } as AuthenticateKeyResponse;
  };
  return { questions, client: { authenticateKey } as unknown as ServiceClient<AuthServiceService> };
}

/** What it comes to, and after how long. */
async function outcomeOf(answer: Promise<AuthenticateKeyResponse>): Promise<string> {
  const started = performance.now();
  const outcome = await answer.then(
    ({ keyId }) => keyId,
    (error) => error.kind,
  );
  return `${outcome} after ${performance.now() - started} ms`;
}

/** Lets time pass until all is answered. */
async function settle(...answers: Promise<AuthenticateKeyResponse>[]): Promise<string[]> {
  const outcomes = Promise.all(answers.map(outcomeOf));
  let isSettled = false;
  void outcomes.then(() => (isSettled = true));
  while (!isSettled) await vi.advanceTimersByTimeAsync(10);
  return outcomes;
}

/** Three unknown keys of an address are looked up at once, and four of all addresses. */
function credentialsOf(client: ServiceClient<AuthServiceService>): Credentials {
  const limiter = { isUsedUp: () => false } as unknown as RateLimiter;
  return new Credentials(client, new LookUps(limiter, new RequestQueue({ concurrency: 4, perKey: 32, tenantMetrics: false })));
}

const checkOf = (id: string): Check => ({ kind: 'address', id, rule: { requests: 60, periodSeconds: 60 } });
const from = (address = '192.0.2.1') => ({ deadline: Date.now() + 5_000, check: checkOf(address) });

const key = createApiKey();
const header = `Bearer ${key}`;

describe('what can be no key', () => {
  it.each([
    ['nothing', undefined],
    ['an empty header', ''],
    ['no key', 'Bearer'],
    ['a key without its scheme', key],
    ['another scheme', `Basic ${key}`],
    ['two keys', `Bearer ${key} ${key}`],
    ['another word', 'Bearer secret'],
    ['a typo', `Bearer ${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`],
    ['a key cut short', `Bearer ${key.slice(0, -1)}`],
    ['a key with something behind it', `Bearer ${key}x`],
    ['a key in another case', `Bearer ${key.toUpperCase()}`],
  ])('%s is 401, and auth is not asked', async (_, authorization) => {
    const { client, questions } = fakeAuth();
    await expect(credentialsOf(client).resolve(authorization, from())).rejects.toMatchObject({
      status: 401,
      code: 'unauthorized',
    });
    expect(questions).toHaveLength(0);
  });

  it.each(['Bearer  ', 'bearer ', 'BEARER    '])('"%s" introduces a key all the same', async (scheme) => {
    const { client } = fakeAuth();
    await expect(settle(credentialsOf(client).resolve(scheme + key, from()))).resolves.toEqual(['answer 1 after 0 ms']);
  });
});

describe('a key in use', () => {
  it('is asked about once a second', async () => {
    const { client, questions } = fakeAuth();
    const credentials = credentialsOf(client);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(980);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(10);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 2 after 0 ms']);
    expect(questions).toHaveLength(2);
  });

  it('is asked about apart from other keys', async () => {
    const { client, questions } = fakeAuth();
    const credentials = credentialsOf(client);
    const other = createApiKey();
    for (const each of [key, other, key, other]) await settle(credentials.resolve(`Bearer ${each}`, from()));
    expect(questions.map(({ apiKey }) => apiKey)).toEqual([key, other]);
  });

  it('is remembered from the moment of the question, not of the answer', async () => {
    const { client } = fakeAuth({ latencyMs: 600 });
    const credentials = credentialsOf(client);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 600 ms']);
    await vi.advanceTimersByTimeAsync(380);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(20);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 2 after 600 ms']);
  });

  it('is asked about once by all who wait together', async () => {
    const { client, questions } = fakeAuth({ latencyMs: 500 });
    const credentials = credentialsOf(client);
    const outcomes = await settle(...Array.from({ length: 50 }, () => credentials.resolve(header, from())));
    expect(new Set(outcomes)).toEqual(new Set(['answer 1 after 500 ms']));
    expect(questions).toHaveLength(1);
  });

  it('is asked about with the deadline of who asks, but not for them alone', async () => {
    const { client, questions } = fakeAuth();
    await settle(credentialsOf(client).resolve(header, { ...from(), deadline: 12345 }));
    expect(questions).toEqual([{ apiKey: key, deadline: 12345, signal: undefined }]);
  });
});

describe('an answer that took more than a second', () => {
  it('is not for those who came after the question, who ask once more, together', async () => {
    const { client, questions } = fakeAuth({ latencyMs: 1_200 });
    const credentials = credentialsOf(client);
    const first = outcomeOf(credentials.resolve(header, from()));
    await vi.advanceTimersByTimeAsync(100);
    const late = await settle(...Array.from({ length: 20 }, () => credentials.resolve(header, from())));
    expect(await first).toBe('answer 1 after 1200 ms');
    expect(new Set(late)).toEqual(new Set(['answer 2 after 2300 ms']));
    expect(questions).toHaveLength(2);
  });
});

describe('a key that auth refuses', () => {
  it('is remembered for a second, too', async () => {
    const { client, questions } = fakeAuth({ fail: (question) => (question === 1 ? invalidKey() : undefined) });
    const credentials = credentialsOf(client);
    for (let n = 0; n < 5; n++) expect(await settle(credentials.resolve(header, from()))).toEqual(['unauthenticated after 0 ms']);
    expect(questions).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 2 after 0 ms']);
  });
});

describe('an outage', () => {
  it('is not remembered', async () => {
    const { client } = fakeAuth({ fail: (question) => (question === 1 ? unavailable('away') : undefined) });
    const credentials = credentialsOf(client);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['unavailable after 0 ms']);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 2 after 0 ms']);
  });

  it('leaves what is remembered as it is, for its second', async () => {
    const { client, questions } = fakeAuth({ fail: (question) => (question > 1 ? unavailable('away') : undefined) });
    const credentials = credentialsOf(client);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(900);
    expect(await settle(credentials.resolve(header, from()))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(100);
    for (let n = 0; n < 3; n++) expect(await settle(credentials.resolve(header, from()))).toEqual(['unavailable after 0 ms']);
    expect(questions).toHaveLength(4);
  });

  it('fails all who wait together', async () => {
    const { client, questions } = fakeAuth({ latencyMs: 100, fail: () => unavailable('away') });
    const credentials = credentialsOf(client);
    const outcomes = await settle(...Array.from({ length: 10 }, () => credentials.resolve(header, from())));
    expect(new Set(outcomes)).toEqual(new Set(['unavailable after 100 ms']));
    expect(questions).toHaveLength(1);
  });
});

describe('keys that nobody knows yet', () => {
  const guess = () => `Bearer ${createApiKey()}`;

  it('are looked up in the turn of their address; those of other addresses don’t wait', async () => {
    const { client, questions } = fakeAuth({ latencyMs: 100, fail: invalidKey });
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
    expect(questions).toHaveLength(6);
  });

  it('keep no key waiting that was good before, from the same address, an outage in between or not', async () => {
    const { client } = fakeAuth({ latencyMs: 100, fail: (question) => (question === 2 ? unavailable('away') : undefined) });
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
