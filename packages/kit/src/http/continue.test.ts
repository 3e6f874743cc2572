import { once } from 'node:events';
import { createServer } from 'node:http';
import { createConnection, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { answerContinue } from './continue.ts';

/** Sends the pieces to a server that echoes each body. @returns everything that the server sends, without the headers that vary */
async function exchange(...pieces: string[]): Promise<string> {
  const answer = async (request: AsyncIterable<Buffer>) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    // The first request is slow, so that the answer to the second is ready before its turn.
    if (body.toString() === 'one') await sleep(50);
    return body;
  };
  const server = createServer((request, response) => {
    void answer(request).then((body) => response.setHeader('Content-Length', body.length).end(body));
  });
  answerContinue(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = createConnection((server.address() as AddressInfo).port, '127.0.0.1');
  const received = text(socket);
  for (const piece of pieces) {
    socket.write(piece);
    await sleep(150);
  }
  const all = await received;
  server.close();
  return all.replace(/^(Date|Connection|Keep-Alive): .*\r\n/gm, '').replaceAll('\r\n', '|');
}

const expecting = (body: string) =>
  `POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const FIRST = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none';
const CONTINUE = 'HTTP/1.1 100 Continue||';
const ok = (body: string) => `HTTP/1.1 200 OK|Content-Length: ${body.length}||${body}`;

it('100 Continue is sent before the body arrives', async () => {
  const whole = expecting('two');
  expect(await exchange(whole.slice(0, -3), whole.slice(-3))).toBe(CONTINUE + ok('two'));
});

it('a request that came with its body gets no 100 Continue, even if its answer is ready before its turn', async () => {
  expect(await exchange(FIRST + expecting('two'))).toBe(ok('one') + ok('two'));
});

it('100 Continue for a second request is sent after the answer to the first', async () => {
  const whole = FIRST + expecting('two');
  expect(await exchange(whole.slice(0, -3), whole.slice(-3))).toBe(ok('one') + CONTINUE + ok('two'));
});
