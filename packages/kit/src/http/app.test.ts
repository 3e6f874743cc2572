import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createLogger } from '../process/log.ts';
import { createHttpApp } from './app.ts';

it.each([
  ['https://api.example.com', 'max-age=31536000'],
  ['http://127.0.0.1:8080', null],
  [undefined, null],
])('an app with the address %s answers with Strict-Transport-Security: %s', async (publicUrl, expected) => {
  const { app, listener } = createHttpApp({
    name: 'test',
    log: createLogger('test', { level: 'silent' }),
    timeoutOf: () => 1_000,
    addressOf: () => '127.0.0.1',
    publicUrl,
  });
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
