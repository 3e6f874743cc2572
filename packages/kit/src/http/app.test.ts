import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createLogger } from '../process/log.ts';
import { errorHandler, createHttpApp } from './app.ts';
import { Refusal } from './refusal.ts';

const log = createLogger('test', { level: 'silent' });
const OPTIONS = { name: 'test', log, timeoutOf: () => 1_000, addressOf: () => '127.0.0.1' };

it.each([
  ['https://api.example.com', 'max-age=31536000'],
  ['http://127.0.0.1:8080', null],
  [undefined, null],
])('an app with the public URL %s responds with Strict-Transport-Security: %s', async (publicUrl, expected) => {
  const { app, listener } = createHttpApp({ ...OPTIONS, publicUrl });
  app.get('/', (_request, response) => void response.end());
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { headers } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(headers.get('strict-transport-security')).toBe(expected);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
  } finally {
    server.close();
  }
});

it('a client over its limit gets at most 50 refusals a second on one connection', async () => {
  const { app, listener } = createHttpApp(OPTIONS);
  app.use(() => {
    throw new Refusal(429, 'rate_limited', 'Too many.');
  });
  app.use(errorHandler(log));
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const began = performance.now();
    for (let n = 0; n < 5; n++) {
      const { status } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      expect(status).toBe(429);
    }
    // Timers may be a millisecond early.
    expect(performance.now() - began).toBeGreaterThan(95);
  } finally {
    server.close();
  }
});
