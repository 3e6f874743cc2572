import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createLogger } from '@crs/kit/process/log';
import { freePorts } from '@crs/testing/ports';
import { startRedis, type RedisServer } from '@crs/testing/redis';
import { RedisStore } from '../src/store/redis-store.ts';

const probe = await startRedis();
await probe?.stop();

const SLOTS = 16_384;
const NODES = 3;

/** Starts a cluster of three primaries without replicas. */
async function startCluster(): Promise<RedisServer[]> {
  const ports = await freePorts(2 * NODES);
  // The default bus port is the port + 10,000, which may be in use as the ephemeral port of some connection.
  const busPorts = ports.splice(NODES).map(String);
  const servers = await Promise.all(
    ports.map(async (port, node) => (await startRedis(port, { 'cluster-enabled': 'yes', 'cluster-port': busPorts[node]! }))!),
  );
  const admins = await Promise.all(servers.map(({ url }) => createClient({ url }).connect()));
  for (const [node, admin] of admins.entries()) {
    const first = Math.ceil((SLOTS / NODES) * node);
    const last = Math.ceil((SLOTS / NODES) * (node + 1)) - 1;
    await admin.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', String(first), String(last)]);
    await admin.sendCommand(['CLUSTER', 'SET-CONFIG-EPOCH', String(node + 1)]);
  }
  for (const [node, { port }] of [...servers.entries()].slice(1))
    await admins[0]!.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', String(port), busPorts[node]!]);
  for (const admin of admins) {
    await vi.waitFor(async () => expect(await admin.clusterInfo()).toContain('cluster_state:ok'), {
      timeout: 20_000,
      interval: 50,
    });
    admin.destroy();
  }
  return servers;
}

const hit = (id: number) => ({ key: `rl:{call-research:kind=user:id=${id}}:600/60`, amount: 1, windowMs: 60_000, limit: 600 });

describe.skipIf(!probe)('counters in a Redis Cluster', { timeout: 60_000 }, () => {
  let servers: RedisServer[];
  let store: RedisStore;
  beforeAll(async () => {
    servers = await startCluster();
    const url = servers.slice(0, 2).map((server) => server.url);
    store = new RedisStore({
      url: url.join(','),
      prefix: 'cluster/',
      timeoutMs: 200,
      log: createLogger('test', { level: 'silent' }),
    });
    await store.open();
  });
  afterAll(async () => {
    await store.close();
    for (const server of servers) await server.stop();
  });

  it('are spread over all nodes, and count exactly', async () => {
    const ids = Array.from({ length: 60 }, (_, id) => id);
    for (const count of [1, 2]) {
      const counts = await Promise.all(ids.map((id) => store.add(hit(id))));
      expect(new Set(counts.map((counted) => counted.count))).toEqual(new Set([count]));
    }
    for (const { url } of servers) {
      const admin = await createClient({ url }).connect();
      expect(await admin.dbSize()).toBeGreaterThan(0);
      admin.destroy();
    }
  });

  it('keep counting on the reachable nodes while one hangs, and on all nodes once it recovers', async () => {
    const ids = Array.from({ length: 60 }, (_, id) => 1_000 + id);
    const counted = async () => {
      const outcomes = await Promise.allSettled(ids.map((id) => store.add(hit(id))));
      return outcomes.filter(({ status }) => status === 'fulfilled').length;
    };
    expect(await counted()).toBe(60);
    process.kill(servers[2]!.pid, 'SIGSTOP');
    for (let round = 0; round < 3; round++) {
      const many = await counted();
      expect(many).toBeGreaterThan(20);
      expect(many).toBeLessThan(60);
    }
    process.kill(servers[2]!.pid, 'SIGCONT');
    await vi.waitFor(async () => expect(await counted()).toBe(60), { timeout: 20_000, interval: 50 });
  });
});
