import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@crs/kit/process/log';
import { freePorts } from '@crs/testing/ports';
import { startRedis, startSentinel, type RedisServer } from '@crs/testing/redis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { RedisStore } from '../src/store/redis-store.ts';
import { findPrimary } from '../src/store/sentinel.ts';

const probe = await startRedis();
await probe?.stop();
const directory = mkdtempSync(join(tmpdir(), 'crs-sentinel-'));
afterAll(() => rmSync(directory, { recursive: true }));

const NAME = 'mymaster';
const PASSWORD = 'a-password';
const log = createLogger('test', { level: 'silent' });
const hit = { key: 'rl:{call-research:kind=user:id=1}:600/60', amount: 1, windowMs: 60_000, limit: 600 };

/** A client that survives the connections that a failover closes. */
async function admin(url: string) {
  const client = createClient({ url, RESP: 2 });
  client.on('error', () => {});
  onTestFinished(() => client.destroy());
  return client.connect();
}

describe.skipIf(!probe)('Redis behind Sentinels', { timeout: 60_000 }, () => {
  let servers: RedisServer[] = [];
  /** One Sentinel requires a password, one doesn't. */
  let sentinels: RedisServer[] = [];
  /** The URLs of a Sentinel that is down, and of the two others. */
  let url: string;
  beforeAll(async () => {
    const secured = { requirepass: PASSWORD, masterauth: PASSWORD };
    const primary = (await startRedis(undefined, secured))!;
    const replica = (await startRedis(undefined, { ...secured, replicaof: `127.0.0.1 ${primary.port}` }))!;
    servers = [primary, replica];
    const watch = { name: NAME, port: primary.port, password: PASSWORD };
    sentinels = [await startSentinel(watch), await startSentinel(watch, { requirepass: PASSWORD })];
    const [unused] = await freePorts(1);
    url = [unused, ...sentinels.map(({ port }) => port)].map((port) => `redis://:${PASSWORD}@127.0.0.1:${port}`).join(',');
  });
  afterAll(async () => {
    for (const server of [...sentinels, ...servers]) await server.stop();
  });

  it.each([0, 1])('is found by Sentinel %i', async (index) => {
    const found = await findPrimary({ url: `redis://:${PASSWORD}@127.0.0.1:${sentinels[index]!.port}`, sentinel: NAME });
    expect(found).toBe(`redis://:${PASSWORD}@127.0.0.1:${servers[0]!.port}`);
  });

  it('is not found by a name that no Sentinel knows, nor with a wrong password', async () => {
    await expect(findPrimary({ url, sentinel: 'other' })).rejects.toThrow('No Sentinel names a primary other.');
    const passwordFile = join(directory, 'wrong');
    writeFileSync(passwordFile, 'wrong');
    const secured = `redis://:${PASSWORD}@127.0.0.1:${sentinels[1]!.port}`;
    await expect(findPrimary({ url: secured, sentinel: NAME, passwordFile })).rejects.toThrow('No Sentinel names a primary');
  });

  it('counts at the primary, and at the new one after a failover', async () => {
    const store = new RedisStore({ url, sentinel: NAME, prefix: '', timeoutMs: 200, log });
    await store.open();
    onTestFinished(() => store.close());
    expect(await store.add(hit)).toMatchObject({ count: 1 });
    const sentinel = await admin(`redis://127.0.0.1:${sentinels[0]!.port}`);
    const replica = await admin(`redis://:${PASSWORD}@127.0.0.1:${servers[1]!.port}`);
    // Before the replica has the counter, and the Sentinel knows the replica, a failover would lose it or be refused.
    await vi.waitFor(async () => expect(await replica.get(hit.key)).toBe('1'), { timeout: 20_000 });
    await vi.waitFor(() => sentinel.sendCommand(['SENTINEL', 'FAILOVER', NAME]), { timeout: 30_000, interval: 200 });
    await vi.waitFor(async () => expect(await replica.sendCommand<unknown[]>(['ROLE'])).toContain('master'), { timeout: 30_000 });
    // The old primary answers until the Sentinel demotes it.
    const countAtNewPrimary = async () => {
      await store.add(hit);
      expect(Number(await replica.get(hit.key))).toBeGreaterThanOrEqual(2);
    };
    await vi.waitFor(countAtNewPrimary, { timeout: 30_000, interval: 50 });
  });
});
