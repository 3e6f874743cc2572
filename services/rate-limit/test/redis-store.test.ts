import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';
import { describe, expect, it, vi, type TestContext } from 'vitest';
import { ServiceError } from '@crs/kit/errors';
import { createLogger } from '@crs/kit/process/log';
import { startRedis, type RedisServer } from '@crs/testing/redis';
import { RedisStore } from '../src/store/redis-store.ts';

const KUBERNETES = new URL('../../../docs/kubernetes.md', import.meta.url);

const log = createLogger('test', { level: 'silent' });

const probe = await startRedis();
await probe?.stop();

async function openRedis({ onTestFinished }: TestContext, port?: number): Promise<RedisServer> {
  const redis = await startRedis(port);
  onTestFinished(() => redis!.stop());
  return redis!;
}

async function openStore(
  { onTestFinished }: TestContext,
  url: string,
  options: Partial<ConstructorParameters<typeof RedisStore>[0]> = {},
): Promise<RedisStore> {
  // Long enough for a response on a slow machine.
  const store = new RedisStore({ url, prefix: '', timeoutMs: 1_000, log, ...options });
  onTestFinished(() => store.close());
  await store.open();
  return store;
}

/** Opens a store and waits until it is connected, because on a slow machine the first attempt may time out. */
async function openConnected(...[context, url, options]: Parameters<typeof openStore>): Promise<RedisStore> {
  const store = await openStore(context, url, options);
  // Concurrent tests need the `expect` of their own context.
  await context.expect.poll(() => store.isConnected).toBe(true);
  return store;
}

async function openAdmin({ onTestFinished }: TestContext, url: string) {
  const admin = createClient({ url });
  admin.on('error', () => {});
  onTestFinished(() => admin.destroy());
  return admin.connect();
}

const hit = { key: 'rl:{call-research:kind=organization:id=acme}:600/60', amount: 1, windowMs: 60_000, limit: 600 };

/** The outcome of a hit, marked if it took 5 s: far above the store's timeout, for slow machines, and far below an unbounded wait. */
async function resultOfHit(store: RedisStore): Promise<string> {
  const started = performance.now();
  const outcome = await store.add(hit).then(
    () => 'counted',
    (error: unknown) => (error instanceof ServiceError ? error.kind : 'failed'),
  );
  return performance.now() - started < 5_000 ? outcome : `${outcome}, but late`;
}

const recovered = (store: RedisStore) => vi.waitFor(() => store.add(hit), { timeout: 15_000, interval: 50 });

// Each test has its own Redis and mostly waits, so the tests can run concurrently.
describe.skipIf(!probe)('the Redis store', { concurrent: true }, () => {
  it('reads its password from the file again for each new connection', async (context) => {
    const redis = await openRedis(context);
    const admin = await openAdmin(context, redis.url);
    const folder = await mkdtemp(join(tmpdir(), 'crs-test-'));
    context.onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, 'token');
    await writeFile(path, 'first-token\n');
    await admin.sendCommand(['ACL', 'SETUSER', 'limits', 'on', '>first-token', '~*', '+@all']);
    const store = await openConnected(context, redis.url.replace('redis://', 'redis://limits:stale@'), {
      passwordFile: path,
    });
    expect(await resultOfHit(store)).toBe('counted');

    await admin.sendCommand(['ACL', 'SETUSER', 'limits', 'resetpass', '>second-token']);
    await admin.sendCommand(['CLIENT', 'KILL', 'USER', 'limits']);
    // ACL LOG shows that the store tried to log in with the old password and failed.
    await context.expect.poll(async () => (await admin.aclLog())[0]?.reason).toBe('auth');
    expect(await resultOfHit(store)).toBe('unavailable');
    await writeFile(path, 'second-token');
    await recovered(store);
  });

  it('gives an expiry to a counter that has none', async (context) => {
    const redis = await openRedis(context);
    const [store, admin] = [await openConnected(context, redis.url), await openAdmin(context, redis.url)];
    await admin.set(hit.key, '41');
    expect(await store.add(hit)).toEqual({ count: 42, allowed: true, resetInMs: hit.windowMs });
    expect(await admin.pTTL(hit.key)).toBeGreaterThan(0);
  });

  it('keeps counters of two prefixes separate, and needs only the documented permissions', async (context) => {
    const redis = await openRedis(context);
    const admin = await openAdmin(context, redis.url);
    const documented = /ACL SETUSER (call-research .*)`/.exec(await readFile(KUBERNETES, 'utf8'))![1]!;
    await admin.sendCommand(['ACL', 'SETUSER', ...documented.replace('PASSWORD', 'pw').replace('PREFIX', 'one/').split(' ')]);
    const limited = redis.url.replace('redis://', 'redis://call-research:pw@');
    const [one, two, other] = [
      await openConnected(context, limited, { prefix: 'one/' }),
      await openConnected(context, redis.url, { prefix: 'two/' }),
      await openConnected(context, limited, { prefix: 'two/' }),
    ];
    expect([await one.add(hit), await one.add(hit), await two.add(hit)].map(({ count }) => count)).toEqual([1, 2, 1]);
    await expect(other.add(hit)).rejects.toThrow(ServiceError);
    expect((await admin.keys('*')).toSorted()).toEqual([`one/${hit.key}`, `two/${hit.key}`]);
  });

  it('still works after Redis lost its script cache', async (context) => {
    const redis = await openRedis(context);
    const [store, admin] = [await openConnected(context, redis.url), await openAdmin(context, redis.url)];
    await store.add(hit);
    await admin.scriptFlush();
    expect(await store.add(hit)).toMatchObject({ count: 2 });
  });

  it('fails immediately while Redis is down, and counts again once it recovers', async (context) => {
    const redis = await openRedis(context);
    const store = await openConnected(context, redis.url);
    await store.add(hit);
    await redis.stop();
    expect(await resultOfHit(store)).toBe('unavailable');
    await openRedis(context, redis.port);
    expect(await recovered(store)).toMatchObject({ count: 1 });
  });

  it('opens before Redis is up, and connects later', async (context) => {
    const redis = await openRedis(context);
    await redis.stop();
    const store = await openStore(context, redis.url);
    expect(await resultOfHit(store)).toBe('unavailable');
    await openRedis(context, redis.port);
    expect(await recovered(store)).toHaveProperty('count');
  });

  it('times out while Redis hangs, and then drops the connection', async (context) => {
    const redis = await openRedis(context);
    const store = await openConnected(context, redis.url, { timeoutMs: 100 });
    await recovered(store);
    process.kill(redis.pid, 'SIGSTOP');
    await expect(store.add(hit)).rejects.toMatchObject({ kind: 'unavailable', cause: { message: 'took longer than 100 ms' } });
    // Once the connection is dropped, hits fail immediately.
    await vi.waitFor(
      async () => {
        const started = performance.now();
        await expect(store.add(hit)).rejects.toMatchObject({ kind: 'unavailable' });
        expect(performance.now() - started).toBeLessThan(50);
      },
      { timeout: 15_000 },
    );
    process.kill(redis.pid, 'SIGCONT');
    expect(await recovered(store)).toHaveProperty('count');
  });

  it('reconnects to find the new primary if its server was made a replica', async (context) => {
    const redis = await openRedis(context);
    const [store, admin] = [await openConnected(context, redis.url), await openAdmin(context, redis.url)];
    await store.add(hit);
    const connections = async () => (await admin.clientList()).map(({ id }) => id).filter((id) => id !== own);
    const own = await admin.clientId();
    const before = await connections();
    await admin.replicaOf('127.0.0.1', 1);
    expect(await resultOfHit(store)).toBe('unavailable');
    await vi.waitFor(
      async () => {
        await expect(store.add(hit)).rejects.toMatchObject({ kind: 'unavailable' });
        const after = await connections();
        expect(after).not.toEqual([]);
        expect(after).not.toEqual(before);
      },
      { timeout: 15_000, interval: 20 },
    );
    await admin.sendCommand(['REPLICAOF', 'NO', 'ONE']);
    expect(await recovered(store)).toHaveProperty('count');
  });

  it('closes while it is trying to connect', async (context) => {
    const redis = await openRedis(context);
    await redis.stop();
    const store = await openStore(context, redis.url);
    await sleep(50);
    await store.close();
    expect(await resultOfHit(store)).toBe('unavailable');
  });
});
