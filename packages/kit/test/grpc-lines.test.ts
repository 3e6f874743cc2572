import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, credentials } from '@grpc/grpc-js';
import { ChargeServiceService } from '@crs/proto/crs/ratelimit/v1/charges';
import type { RateLimitRequest } from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { afterEach, expect, test, vi } from 'vitest';
import { invalid, ServiceError } from '../src/errors.ts';
import { createLogger } from '../src/process/log.ts';
import { Late } from '../src/process/patience.ts';
import { client, type CallOptions } from '../src/rpc/client.ts';
import type { Identity, Verifier } from '../src/rpc/identity.ts';
import { bind, rpc, serve, type CallContext } from '../src/rpc/server.ts';

const log = createLogger('test', { level: 'silent' });
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

const verify: Verifier = async (token) => {
  if (!token.startsWith('of ')) throw new ServiceError('unauthenticated', 'The token is not valid.');
  return { kind: 'organization', organization: token.slice(3) } as Identity;
};

type Handle = (what: string, call: CallContext<'organization'>) => Promise<number>;

/** A service whose line answers each question, a word, with a number. */
async function startService(handle: Handle, address = '127.0.0.1:0') {
  const charge = rpc({ organization: 'read' }, async ({ domain }: RateLimitRequest, call) => {
    const limitRemaining = await handle(domain, call);
    const status = { code: 'OK', currentLimit: undefined, limitRemaining, durationUntilReset: undefined } as const;
    return { overallCode: 'OK' as const, statuses: [status] };
  });
  const services = [bind(ChargeServiceService, ['api-gateway'], { charge })];
  const server = await serve({ name: 'test', address, services, verify, log });
  cleanups.push(() => server.stop());
  return server;
}

function ask(address: string, { retry = false, timeoutMs = 5_000, lines = 4 } = {}) {
  const service = client(ChargeServiceService, { name: 'test', address, timeoutMs, retry, lines });
  cleanups.push(() => service.close());
  return async (domain: string, call: CallOptions = {}) => {
    const { statuses } = await service.charge({ domain, descriptors: [], hitsAddend: 1 }, { token: 'of acme', ...call });
    return statuses[0]!.limitRemaining;
  };
}

test('questions are answered when each is done, and fail each by itself', async () => {
  const slow = Promise.withResolvers<number>();
  const { address } = await startService(async (word) => {
    if (word === 'slow') return slow.promise;
    if (word === 'bad') throw invalid('word', 'must not be bad');
    return word.length;
  });
  const question = ask(address);
  const first = question('slow');
  expect(await Promise.all(['a', 'abc', 'ab'].map((word) => question(word)))).toEqual([1, 3, 2]);
  await expect(question('bad')).rejects.toMatchObject({ kind: 'invalid_argument', field: 'word' });
  slow.resolve(7);
  expect(await first).toBe(7);
});

test('on one line, answers that take equally long come in the order of their questions', async () => {
  const { address } = await startService(async (word) => word.length);
  const question = ask(address, { lines: 1 });
  const answered: number[] = [];
  await Promise.all(Array.from({ length: 200 }, async (_, n) => answered.push(await question('x'.repeat(n)))));
  expect(answered).toEqual(Array.from({ length: 200 }, (_, n) => n));
});

test('each question is admitted by its own token', async () => {
  const { address } = await startService(async (_word, { identity }) => identity.organization.length);
  const question = ask(address);
  const tokens = ['of acme', 'of globex', '', 'stolen'];
  const answers = await Promise.allSettled(tokens.map((token) => question('', { token })));
  expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason.kind))).toEqual([
    4,
    6,
    'unauthenticated',
    'unauthenticated',
  ]);
});

test('a question without an answer ends at its deadline, at both ends, and the next one is answered', async () => {
  const ended = Promise.withResolvers<unknown>();
  const { address } = await startService(async (word, { signal }) => {
    if (word === 'fast') return 1;
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        ended.resolve(signal.reason);
        reject(signal.reason);
      });
    });
  });
  const question = ask(address, { timeoutMs: 300 });
  await expect(question('slow')).rejects.toMatchObject({ kind: 'deadline_exceeded' });
  expect(await ended.promise).toMatchObject({ kind: 'deadline_exceeded' });
  expect(await question('fast')).toBe(1);
});

test('an asker who leaves, or gives up a late question, ends it at the service, and disturbs no other', async () => {
  const aborted: string[] = [];
  const others = Promise.withResolvers<number>();
  const { address } = await startService(async (word, { signal }) => {
    signal.addEventListener('abort', () => aborted.push(word));
    if (word === 'fast') return 1;
    return word === 'other' ? others.promise : new Promise(() => {});
  });
  // The deadline would end it, too.
  const question = ask(address, { timeoutMs: 60_000 });
  const gone = question('gone', { signal: AbortSignal.abort(new Error('left')) });
  await expect(gone).rejects.toThrow('left');
  // On each line.
  const rest = Array.from({ length: 8 }, () => question('other'));
  for (const reason of [new Error('left'), new Late(100)]) {
    const leaving = new AbortController();
    const left = question(reason.name, { signal: leaving.signal });
    // Each line answers something meanwhile.
    await Promise.all(Array.from({ length: 40 }, () => question('fast')));
    leaving.abort(reason);
    await expect(left).rejects.toThrow(reason);
  }
  await expect.poll(() => aborted).toEqual(['Error', 'Late']);
  others.resolve(5);
  expect(await Promise.all(rest)).toEqual(Array.from({ length: 8 }, () => 5));
});

test('a question on a line that has become too old for more is answered or cancelled', async () => {
  const ended = Promise.withResolvers<string>();
  const work = Promise.withResolvers<number>();
  const begun: string[] = [];
  const { address } = await startService(async (word, { signal }) => {
    begun.push(word);
    signal.addEventListener('abort', () => ended.resolve(word));
    return work.promise;
  });
  const question = ask(address, { timeoutMs: 60_000, lines: 1 });
  const leaving = new AbortController();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const left = question('left', { signal: leaving.signal });
  vi.advanceTimersByTime(11_000);
  vi.useRealTimers();
  const answered = question('answered');
  await expect.poll(() => begun).toEqual(['left', 'answered']);
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  expect(await ended.promise).toBe('left');
  work.resolve(3);
  expect(await answered).toBe(3);
});

test('a question that is late on a silent line ends the line', async () => {
  const ended: string[] = [];
  const { address } = await startService(async (word, { signal }) => {
    if (word === 'fast') return 1;
    signal.addEventListener('abort', () => ended.push(word));
    return new Promise(() => {});
  });
  const question = ask(address, { timeoutMs: 60_000 });
  const hurry = new AbortController();
  // Four lines, with two questions each.
  const late = Array.from({ length: 8 }, (_, n) => question(`late ${n}`, { signal: hurry.signal }));
  await sleep(200);
  hurry.abort(new Late(100));
  for (const each of late) await expect(each).rejects.toThrow(Late);
  await expect.poll(() => ended.length).toBe(8);
  expect(await question('fast')).toBe(1);
});

test('a service that stops answers all that it began, and what it did not begin is asked elsewhere', async () => {
  const begun = Promise.withResolvers<void>();
  const work = Promise.withResolvers<number>();
  const first = await startService(async () => {
    begun.resolve();
    return work.promise;
  });
  const question = ask(first.address, { retry: true });
  const asked = question('a');
  await begun.promise;
  const stopped = first.stop();
  const late = question('b');
  await sleep(200);
  work.resolve(1);
  expect(await asked).toBe(1);
  await stopped;
  await startService(async () => 2, first.address);
  expect(await late).toBe(2);
});

test('a message that is no question disturbs no other', async () => {
  const { address } = await startService(async () => 4);
  const { path, requestSerialize, responseDeserialize } = ChargeServiceService.charge;
  const stranger = new Client(address, credentials.createInsecure());
  cleanups.push(() => stranger.close());
  const line = stranger.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  const ended = new Promise((resolve) => line.on('status', resolve).on('data', () => {}));
  line.write({ question: undefined, body: undefined });
  line.end();
  expect(await ended).toMatchObject({ code: 0 });
  expect(await ask(address)('')).toBe(4);
});

/** Forwards connections, until they are cut. */
async function startForwarder(target: string) {
  const [host, port] = target.split(':');
  const sockets = new Set<Socket>();
  const server = createServer((inbound) => {
    const outbound = createConnection({ host: host!, port: Number(port) });
    for (const socket of [inbound, outbound]) sockets.add(socket.on('error', () => {}));
    inbound.pipe(outbound).pipe(inbound);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => sockets.forEach((socket) => socket.destroy());
  cleanups.push(() => {
    cut();
    server.close();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
}

test.each([
  ['is asked again where questions may be repeated', true],
  ['fails elsewhere', false],
])('a question whose connection is lost %s', async (_result, retry) => {
  const begun = Promise.withResolvers<void>();
  let questions = 0;
  const { address } = await startService(async () => {
    questions++;
    if (questions > 1) return questions;
    begun.resolve();
    return new Promise(() => {});
  });
  const forwarder = await startForwarder(address);
  const question = ask(forwarder.address, { retry });
  const asked = question('');
  await begun.promise;
  forwarder.cut();
  if (retry) expect(await asked).toBe(2);
  else await expect(asked).rejects.toMatchObject({ kind: 'unavailable' });
});
