import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { INHERITED } from '@crs/testing/inherited';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

function run(environment: Record<string, string>) {
  const child = spawn(process.execPath, [main], {
    env: { ...INHERITED, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return { child, exited: once(child, 'exit'), lines: createInterface(child.stderr) };
}

describe('the process', { timeout: 30_000 }, () => {
  it('logs its addresses, serves /readyz, and exits on SIGTERM', async () => {
    const { child, exited, lines } = run({ CRS_LISTEN: '127.0.0.1:0', CRS_OPS_LISTEN: '127.0.0.1:0' });
    let ops = '';
    for await (const line of lines) {
      ops = /"addresses":{"grpc":"127\.0\.0\.1:\d+","ops":"(.+?)"}/.exec(line)?.[1] ?? '';
      if (ops) break;
    }
    child.stderr.resume();
    expect((await fetch(`http://${ops}/readyz`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });

  it('does not start without a listen address, and names the missing setting', async () => {
    const { exited, lines } = run({ CRS_OPS_LISTEN: '127.0.0.1:0' });
    const output = [];
    for await (const line of lines) output.push(line);
    expect(await exited).toEqual([1, null]);
    expect(output.join('\n')).toContain('CRS_LISTEN: is required');
  });
});

describe('the configuration', () => {
  it('has defaults for all settings except the listen address', () => {
    expect(readConfig({ CRS_LISTEN: '0.0.0.0:8080' })).toEqual({
      listen: '0.0.0.0:8080',
      redisUrl: undefined,
      redisPrefix: '',
      redisTimeoutMs: 100,
      organization: { requests: 600, periodSeconds: 60 },
      user: { requests: 120, periodSeconds: 60 },
      address: { requests: 60, periodSeconds: 60 },
    });
  });

  it.each([
    ['CRS_RATE_LIMIT_USER', '120'],
    ['REDIS_URL', 'http://redis:6379'],
    ['REDIS_URL', 'redis://one:6379,two:6379'],
    ['CRS_REDIS_PREFIX', '{one}'],
    ['CRS_REDIS_PREFIX', 'x'.repeat(129)],
    ['CRS_REDIS_TIMEOUT_MS', 'soon'],
  ])('is refused for an invalid %s: the error names it', (name, value) => {
    expect(() => readConfig({ CRS_LISTEN: '0.0.0.0:8080', [name]: value })).toThrow(new RegExp(`${name}: (must|Invalid)`));
  });
});
