import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '@crs/kit/log';
import { startRedis, type RedisServer } from '@crs/testing/redis';
import { RedisStore } from '../src/store/redis-store.ts';

const probe = await startRedis();
if (!probe) console.log('NOT RUN: what the counters do when Redis fails, as there is no redis-server on the PATH');
await probe?.stop();

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

async function openRedis(port?: number): Promise<RedisServer> {
  const redis = await startRedis(port);
  cleanups.push(() => redis!.stop());
  return redis!;
}

async function openStore(url: string): Promise<RedisStore> {
  const store = new RedisStore({ url, timeoutMs: 100, log: createLogger('test', { level: 'silent' }) });
  cleanups.push(() => store.close());
  await store.open();
  return store;
}

async function openAdmin(url: string) {
  const admin = createClient({ url });
  admin.on('error', () => {});
  cleanups.push(async () => admin.destroy());
  return admin.connect();
}

const hit = { key: 'rl:{call-research:kind=organization:id=acme}:600/60', amount: 1, windowMs: 60_000 };
const unavailable = expect.objectContaining({ kind: 'unavailable' });

/** Within a bound that is far above ours, for slow machines, and far below what an unbounded wait would take. */
async function failsFast(store: RedisStore): Promise<void> {
  const started = performance.now();
  await expect(store.add(hit)).rejects.toEqual(unavailable);
  expect(performance.now() - started).toBeLessThan(2_000);
}

const recovers = (store: RedisStore) => vi.waitFor(() => store.add(hit), { timeout: 15_000, interval: 50 });

describe.skipIf(!probe)('counters in Redis', { timeout: 40_000 }, () => {
  it('gives an expiry to a counter that has none', async () => {
    const redis = await openRedis();
    const [store, admin] = [await openStore(redis.url), await openAdmin(redis.url)];
    await admin.set(hit.key, '41');
    expect(await store.add(hit)).toEqual({ count: 42, resetInMs: hit.windowMs });
    expect(await admin.pTTL(hit.key)).toBeGreaterThan(0);
  });

  it('works on when Redis has forgotten the script', async () => {
    const redis = await openRedis();
    const [store, admin] = [await openStore(redis.url), await openAdmin(redis.url)];
    await store.add(hit);
    await admin.scriptFlush();
    expect(await store.add(hit)).toMatchObject({ count: 2 });
  });

  it('fails at once while Redis is gone, and picks it up when it is back', async () => {
    const redis = await openRedis();
    const store = await openStore(redis.url);
    await store.add(hit);
    await redis.stop();
    await failsFast(store);
    await openRedis(redis.port);
    expect(await recovers(store)).toMatchObject({ count: 1 });
  });

  it('opens while Redis is not there yet', async () => {
    const redis = await openRedis();
    await redis.stop();
    const store = await openStore(redis.url);
    await failsFast(store);
    await openRedis(redis.port);
    await recovers(store);
  });

  it('fails in time while Redis is silent, and leaves the silent connection', async () => {
    const redis = await openRedis();
    const store = await openStore(redis.url);
    await store.add(hit);
    process.kill(redis.pid, 'SIGSTOP');
    await expect(store.add(hit)).rejects.toMatchObject({ kind: 'unavailable', cause: { message: 'no answer within 100 ms' } });
    // From here on there is no connection to wait on.
    await vi.waitFor(
      async () => {
        const started = performance.now();
        await expect(store.add(hit)).rejects.toEqual(unavailable);
        expect(performance.now() - started).toBeLessThan(50);
      },
      { timeout: 15_000 },
    );
    process.kill(redis.pid, 'SIGCONT');
    await recovers(store);
  });

  it('looks for the new primary when its own was made a replica', async () => {
    const redis = await openRedis();
    const [store, admin] = [await openStore(redis.url), await openAdmin(redis.url)];
    await store.add(hit);
    const connections = async () => (await admin.clientList()).map(({ id }) => id).filter((id) => id !== own);
    const own = await admin.clientId();
    const before = await connections();
    await admin.replicaOf('127.0.0.1', 1);
    await failsFast(store);
    await vi.waitFor(
      async () => {
        await expect(store.add(hit)).rejects.toEqual(unavailable);
        const after = await connections();
        expect(after).not.toEqual([]);
        expect(after).not.toEqual(before);
      },
      { timeout: 15_000, interval: 20 },
    );
    await admin.sendCommand(['REPLICAOF', 'NO', 'ONE']);
    await recovers(store);
  });

  it('closes while it can not connect', async () => {
    const redis = await openRedis();
    await redis.stop();
    const store = await openStore(redis.url);
    await sleep(50);
    await store.close();
    await failsFast(store);
  });
});
