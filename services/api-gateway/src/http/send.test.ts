import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import express from 'express';
import { expect, test } from 'vitest';
import { sendJson } from './send.ts';

test('a large body is hashed in steps, so that other work can run in between', async () => {
  const parts = [Buffer.from('['), Buffer.alloc(16 * 1024 * 1024, '0'), Buffer.from(']')];
  let turns = 0;
  const app = express();
  app.get('/', async (request, response) => {
    let isDone = false;
    const others = (async () => {
      for (turns = 0; !isDone; turns++) await turn();
    })();
    await sendJson(request, response, parts);
    isDone = true;
    await others;
  });
  const server = app.listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const response = await fetch(url);
    const body = Buffer.from(await response.arrayBuffer());
    const tag = response.headers.get('etag')!;
    expect(tag).toBe(`"${createHash('sha256').update(body).digest('base64url')}"`);
    expect(body.equals(Buffer.concat(parts))).toBe(true);
    expect(turns).toBeGreaterThan(1);
    expect((await fetch(url, { headers: { 'if-none-match': tag } })).status).toBe(304);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
