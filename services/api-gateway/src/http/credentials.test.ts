import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
import { ServiceError, unavailable } from '@crs/kit/errors';
import type { CallOptions, ServiceClient } from '@crs/kit/grpc-client';
import type { AuthenticateKeyResponse, AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { Credentials } from './credentials.ts';

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
    return { callerToken: `answer ${question}` } as AuthenticateKeyResponse;
  };
  return { questions, client: { authenticateKey } as unknown as ServiceClient<AuthServiceService> };
}

/** What it comes to, and after how long. */
async function outcomeOf(answer: Promise<AuthenticateKeyResponse>): Promise<string> {
  const started = performance.now();
  const outcome = await answer.then(
    ({ callerToken }) => callerToken,
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
    await expect(new Credentials(client).resolve(authorization, {})).rejects.toMatchObject({ status: 401, code: 'unauthorized' });
    expect(questions).toHaveLength(0);
  });

  it.each(['Bearer  ', 'bearer ', 'BEARER    '])('"%s" introduces a key all the same', async (scheme) => {
    const { client } = fakeAuth();
    await expect(settle(new Credentials(client).resolve(scheme + key, {}))).resolves.toEqual(['answer 1 after 0 ms']);
  });
});

describe('a key in use', () => {
  it('is asked about once a second', async () => {
    const { client, questions } = fakeAuth();
    const credentials = new Credentials(client);
    expect(await settle(credentials.resolve(header, {}))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(980);
    expect(await settle(credentials.resolve(header, {}))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(10);
    expect(await settle(credentials.resolve(header, {}))).toEqual(['answer 2 after 0 ms']);
    expect(questions).toHaveLength(2);
  });

  it('is asked about apart from other keys', async () => {
    const { client, questions } = fakeAuth();
    const credentials = new Credentials(client);
    const other = createApiKey();
    for (const each of [key, other, key, other]) await settle(credentials.resolve(`Bearer ${each}`, {}));
    expect(questions.map(({ apiKey }) => apiKey)).toEqual([key, other]);
  });

  it('is remembered from the moment of the question, not of the answer', async () => {
    const { client } = fakeAuth({ latencyMs: 600 });
    const credentials = new Credentials(client);
    expect(await settle(credentials.resolve(header, {}))).toEqual(['answer 1 after 600 ms']);
    await vi.advanceTimersByTimeAsync(380);
    expect(await settle(credentials.resolve(header, {}))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(20);
    expect(await settle(credentials.resolve(header, {}))).toEqual(['answer 2 after 600 ms']);
  });

  it('is asked about once by all who wait together', async () => {
    const { client, questions } = fakeAuth({ latencyMs: 500 });
    const credentials = new Credentials(client);
    const outcomes = await settle(...Array.from({ length: 50 }, () => credentials.resolve(header, {})));
    expect(new Set(outcomes)).toEqual(new Set(['answer 1 after 500 ms']));
    expect(questions).toHaveLength(1);
  });

  it('is asked about with the deadline of who asks, but not for them alone', async () => {
    const { client, questions } = fakeAuth();
    await settle(new Credentials(client).resolve(header, { deadline: 12345, signal: AbortSignal.timeout(1) }));
    expect(questions).toEqual([{ apiKey: key, deadline: 12345, signal: undefined }]);
  });
});

describe('an answer that took more than a second', () => {
  it('is not for those who came after the question, who ask once more, together', async () => {
    const { client, questions } = fakeAuth({ latencyMs: 1_200 });
    const credentials = new Credentials(client);
    const first = outcomeOf(credentials.resolve(header, {}));
    await vi.advanceTimersByTimeAsync(100);
    const late = await settle(...Array.from({ length: 20 }, () => credentials.resolve(header, {})));
    expect(await first).toBe('answer 1 after 1200 ms');
    expect(new Set(late)).toEqual(new Set(['answer 2 after 2300 ms']));
    expect(questions).toHaveLength(2);
  });
});

describe('a key that auth refuses', () => {
  it('is remembered for a second, too', async () => {
    const { client, questions } = fakeAuth({ fail: (question) => (question === 1 ? invalidKey() : undefined) });
    const credentials = new Credentials(client);
    for (let n = 0; n < 5; n++) expect(await settle(credentials.resolve(header, {}))).toEqual(['unauthenticated after 0 ms']);
    expect(questions).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await settle(credentials.resolve(header, {}))).toEqual(['answer 2 after 0 ms']);
  });
});

describe('an outage', () => {
  it('is not remembered', async () => {
    const { client } = fakeAuth({ fail: (question) => (question === 1 ? unavailable('away') : undefined) });
    const credentials = new Credentials(client);
    expect(await settle(credentials.resolve(header, {}))).toEqual(['unavailable after 0 ms']);
    expect(await settle(credentials.resolve(header, {}))).toEqual(['answer 2 after 0 ms']);
  });

  it('leaves what is remembered as it is, for its second', async () => {
    const { client, questions } = fakeAuth({ fail: (question) => (question > 1 ? unavailable('away') : undefined) });
    const credentials = new Credentials(client);
    expect(await settle(credentials.resolve(header, {}))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(900);
    expect(await settle(credentials.resolve(header, {}))).toEqual(['answer 1 after 0 ms']);
    await vi.advanceTimersByTimeAsync(100);
    for (let n = 0; n < 3; n++) expect(await settle(credentials.resolve(header, {}))).toEqual(['unavailable after 0 ms']);
    expect(questions).toHaveLength(4);
  });

  it('fails all who wait together', async () => {
    const { client, questions } = fakeAuth({ latencyMs: 100, fail: () => unavailable('away') });
    const credentials = new Credentials(client);
    const outcomes = await settle(...Array.from({ length: 10 }, () => credentials.resolve(header, {})));
    expect(new Set(outcomes)).toEqual(new Set(['unavailable after 100 ms']));
    expect(questions).toHaveLength(1);
  });
});
