import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { deadlineExceeded, ServiceError, unavailable } from '../src/errors.ts';
import type { AdmittedCallers } from '../src/rpc/admitted-callers.ts';
import type { Identity, Verifier } from '../src/rpc/identity.ts';
import type { CallContext } from '../src/rpc/server.ts';
import { callerOf, OK, REQUEST, startService } from './_service.ts';

/** Starts a service with this handler. @returns a function that calls it */
async function start(handle: (call: CallContext<'anyone'>) => Promise<void>, verify?: Verifier, callers?: AdmittedCallers) {
  const answer = async (_request: unknown, call: CallContext<'anyone'>) => {
    await handle(call);
    return OK;
  };
  return callerOf((await startService(answer, verify && { verify }, callers)).address);
}

const forever = () => new Promise<never>(() => {});

it('a call is not handled if verifying its token outlasts its deadline', async () => {
  const ann: Identity = { kind: 'user', organization: 'acme', userId: 'ann', scopes: ['calls:read'] };
  const slow = Promise.withResolvers<Identity>();
  const verified: string[] = [];
  const verify: Verifier = (token) => {
    verified.push(token);
    return token === 'slow' ? slow.promise : Promise.resolve(ann);
  };
  let handled = 0;
  const call = await start(async () => void handled++, verify, { user: ['calls:read'] });
  // The first call opens the connection.
  await call({ token: 'fast' });
  await expect(call({ token: 'slow', deadline: Date.now() + 250 })).rejects.toMatchObject({ kind: 'deadline_exceeded' });
  slow.resolve(ann);
  await sleep(50);
  expect(verified).toEqual(['fast', 'slow']);
  expect(handled).toBe(1);
});

it('the signal of a handler is aborted when the caller cancels', async () => {
  const ended = Promise.withResolvers<unknown>();
  const call = await start(async ({ signal }) => {
    signal.addEventListener('abort', () => ended.resolve(signal.reason));
    await forever();
  });
  const reason = deadlineExceeded();
  const caller = new AbortController();
  setTimeout(() => caller.abort(reason), 100);
  await expect(call({ signal: caller.signal })).rejects.toBe(reason);
  expect(await ended.promise).toMatchObject({ kind: 'deadline_exceeded' });
});

it('a call whose signal is already aborted is not sent', async () => {
  let handled = 0;
  const call = await start(async () => void handled++);
  const reason = deadlineExceeded();
  await expect(call({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  await sleep(50);
  expect(handled).toBe(0);
});

it('missed deadlines open the circuit breaker of a target; cancelled calls do not', async () => {
  let hangs = true;
  const call = await start(async () => {
    if (hangs) await forever();
  });
  const impatient = Array.from({ length: 40 }, () => call({ signal: AbortSignal.timeout(100), deadline: Date.now() + 5_000 }));
  await Promise.allSettled(impatient);
  hangs = false;
  await expect(call()).resolves.toBeDefined();
  hangs = true;
  await Promise.allSettled(Array.from({ length: 80 }, () => call({ deadline: Date.now() + 100 })));
  hangs = false;
  await expect(call()).rejects.toMatchObject({ kind: 'unavailable' });
  await expect.poll(() => call()).toBeDefined();
});

it('a connection to an address that accepts but never responds is dropped after 5 s, and the next one works', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const taken: Socket[] = [];
  const silent = createServer((socket) => void taken.push(socket));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  onTestFinished(() => taken.forEach((socket) => socket.destroy()));
  const address = `127.0.0.1:${port}`;
  const call = callerOf(address, { timeoutMs: 200 });
  const fails = () => expect(call()).rejects.toMatchObject({ kind: 'deadline_exceeded' });
  await fails();
  // Accepted connections stay open after close(), like connections to a machine that died.
  silent.close();
  await startService(async () => OK, { address });
  await fails();
  vi.advanceTimersByTime(5_001);
  await expect.poll(() => call()).toBeDefined();
});

it('IN_FLIGHT becomes unavailable on a retry, because the first attempt may be the one in flight; on a first attempt it is passed on', async () => {
  const inFlight = () => new ServiceError('aborted', 'in flight', { reason: 'IN_FLIGHT', retryAfterSeconds: 7 });
  let tries = 0;
  const service = await startService(async ({ domain }) => {
    if (domain === 'interrupted' && tries++ === 0) throw unavailable('gone');
    throw inFlight();
  });
  const call = callerOf(service.address, { retry: true });
  const ask = (domain: string) => call({}, { ...REQUEST, domain });
  await expect(ask('interrupted')).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 7 });
  expect(tries).toBe(3);
  await expect(ask('at once')).rejects.toMatchObject({ kind: 'aborted', reason: 'IN_FLIGHT' });
});
