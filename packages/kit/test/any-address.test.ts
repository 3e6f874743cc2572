import { createServer } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { RateLimitServiceService } from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { bindHttp } from '../src/process/bind.ts';
import { createLogger } from '../src/process/log.ts';
import { client } from '../src/rpc/client.ts';
import { bind, rpc, serve } from '../src/rpc/server.ts';

const log = createLogger('test', { level: 'silent' });
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

const HOSTS = ['127.0.0.1', '[::1]'];
const portOf = (address: string) => address.slice(address.lastIndexOf(':') + 1);

it('a gRPC listener at :: answers both families, and names an IPv4 caller by its own address', async () => {
  const seen: string[] = [];
  const shouldRateLimit = rpc({ anyone: true }, async (_request, { address }) => {
    seen.push(address);
    return { overallCode: 'OK' as const, statuses: [] };
  });
  const services = [bind(RateLimitServiceService, ['api-gateway'], { shouldRateLimit })];
  const verify = () => Promise.reject(new Error('not asked'));
  const server = await serve({ name: 'test', address: '[::]:0', services, verify, log });
  cleanups.push(() => server.stop());
  for (const host of HOSTS) {
    const address = `${host}:${portOf(server.address)}`;
    const service = client(RateLimitServiceService, { name: 'test', address, timeoutMs: 5_000, retry: false });
    cleanups.push(() => service.close());
    await service.shouldRateLimit({ domain: '', descriptors: [], hitsAddend: 1 });
  }
  expect(seen).toEqual(['127.0.0.1', '::1']);
});

it('an HTTP listener at :: answers both families', async () => {
  const server = createServer((_request, response) => void response.end('here'));
  cleanups.push(() => server.close());
  const address = await bindHttp(server, '[::]:0');
  for (const host of HOSTS) {
    const answer = await fetch(`http://${host}:${portOf(address)}`, { headers: { connection: 'close' } });
    expect(await answer.text()).toBe('here');
  }
});
