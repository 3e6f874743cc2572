import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { sharedWorld, type World } from '@crs/testing/world';
import { startGateway, type Gateway } from './_gateway.ts';
import { callOf, createSender, NDJSON, sendRecords, type Sender } from './_records.ts';

let world: World;
let gateway: Gateway;
let acme: Sender;
let globex: Sender;

beforeAll(async () => {
  world = await sharedWorld();
  gateway = await startGateway(world, {});
  acme = await createSender(world, 'acme');
  globex = await createSender(world, 'globex');
});
afterAll(() => gateway?.stop());

/** Makes a body large. */
const LONG = 'x'.repeat(70_000);

/** Sends the head of a request and the beginning of its body. */
async function stall({ keys }: Sender, body = '{"type":'): Promise<Socket> {
  const [host = '', port] = gateway.address.split(':');
  const socket = createConnection({ host, port: Number(port) });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.setEncoding('utf8');
  await once(socket, 'connect');
  const head = [
    'POST /v1/records HTTP/1.1',
    'Host: test',
    `Authorization: Bearer ${keys.ingest}`,
    `Content-Type: ${NDJSON['content-type']}`,
  ];
  socket.write([...head, 'Content-Length: 10000000', '', body].join('\r\n'));
  return socket;
}

it('slow senders of one organization delay neither its reads nor the records of another organization', async () => {
  await sendRecords(gateway, acme.keys.ingest, [{ type: 'call', id: 'call_1' }]);
  const sockets = await Promise.all(Array.from({ length: 20 }, () => stall(acme)));
  const useOthers = async () => {
    for (let n = 0; n < 5; n++) {
      const { json } = await sendRecords(gateway, globex.keys.ingest, [{ type: 'call', id: 'call_1', rating: (n % 5) + 1 }]);
      expect(json).toMatchObject({ accepted: 1 });
      expect((await gateway.rest('/v1/calls/call_1', { key: acme.keys.read })).status).toBe(200);
    }
  };
  await useOthers();
  let isServed = false;
  const late = sendRecords(gateway, acme.keys.ingest, [{ type: 'call', id: 'late', summary: LONG }]).finally(
    () => (isServed = true),
  );
  await useOthers();
  // It waits until the other bodies of its organization have ended.
  expect(isServed).toBe(false);
  for (const socket of sockets) socket.destroy();
  expect((await late).json).toMatchObject({ accepted: 1 });
  expect(await callOf(world, globex, 'late')).not.toHaveProperty('call_id');
});

it('slow senders of other organizations do not delay small records', async () => {
  const others = await Promise.all(['hooli', 'umbrella', 'initech'].map((name) => createSender(world, name)));
  const initech = others.pop()!;
  const slow = [acme, globex, ...others];
  const sockets = await Promise.all(slow.map((sender) => stall(sender)));
  // Requests that were sent later are served, so those have their slots.
  for (const { keys } of slow) await gateway.rest('/v1/calls/call_1', { key: keys.ingest });
  const send = (sender: Sender, summary: string) =>
    sendRecords(gateway, sender.keys.ingest, [{ type: 'call', id: 'call_1', summary }]);
  let isServed = false;
  const large = send(initech, LONG).finally(() => (isServed = true));
  for (let n = 0; n < 5; n++) {
    const small = await Promise.all([initech, globex, acme].map((sender) => send(sender, `Short ${n}.`)));
    for (const { json } of small) expect(json).toMatchObject({ accepted: 1 });
  }
  // Every slot of large bodies is taken.
  expect(isServed).toBe(false);
  for (const socket of sockets) socket.destroy();
  expect((await large).json).toMatchObject({ accepted: 1 });
});

/** Starts a proxy that holds back what a connection sends beyond a million bytes, until `release` is called. */
async function holdUploads(target: string): Promise<{ address: string; release: () => void }> {
  let isHeld = true;
  const nears: Socket[] = [];
  const server = createServer((near) => {
    const [host = '', port] = target.split(':');
    const far = createConnection({ host, port: Number(port) });
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const)
      end.on('error', () => {}).once('close', () => other.destroy());
    far.pipe(near);
    nears.push(near);
    let length = 0;
    near.on('data', (chunk: Buffer) => {
      far.write(chunk);
      length += chunk.length;
      if (isHeld && length > 1_000_000) near.pause();
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const release = () => {
    isHeld = false;
    for (const near of nears) near.resume();
  };
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, release };
}

it('records that a service receives slowly delay no other request', async () => {
  const { address: callsAddress, release } = await holdUploads(world.stack.addresses.calls);
  const behind = await startGateway(world, { callsAddress });
  onTestFinished(() => behind.stop());
  const records = Array.from({ length: 50 }, (_, n) => ({ type: 'call', id: `held_${n}`, summary: LONG }));
  let isServed = false;
  const sent = sendRecords(behind, acme.keys.ingest, records).finally(() => (isServed = true));
  for (let n = 0; n < 20; n++) {
    for (const { keys } of [acme, globex]) expect((await behind.rest('/v1/calls/call_1', { key: keys.read })).status).toBe(200);
    await sleep(20);
  }
  expect(isServed).toBe(false);
  release();
  expect((await sent).json).toMatchObject({ accepted: 50 });
});

it('the body of a waiting request stays with the client', async () => {
  const first = await stall(acme);
  const filler = 'x'.repeat(9_900_000);
  const waiting = await stall(acme, filler);
  // Neither side's buffers hold that much.
  await expect.poll(() => waiting.writableLength).toBeGreaterThan(0);
  for (let n = 0; n < 10; n++) expect((await gateway.rest('/v1/calls/call_1', { key: acme.keys.read })).status).toBe(200);
  expect(waiting.writableLength).toBeGreaterThan(0);
  first.destroy();
  await expect.poll(() => waiting.writableLength).toBe(0);
});

it('a body must be NDJSON, uncompressed', async () => {
  const statusOf = async (headers: Record<string, string>) =>
    (await gateway.rest('/v1/records', { method: 'POST', key: acme.keys.ingest, headers, body: '{"type":"call","id":"typed"}' }))
      .status;
  expect(await statusOf({ 'content-type': 'application/json' })).toBe(415);
  expect(await statusOf({ ...NDJSON, 'content-encoding': 'gzip' })).toBe(415);
  expect(await statusOf({ 'content-type': 'application/x-ndjson; charset=latin1' })).toBe(415);
  expect(await statusOf({ 'content-type': 'application/x-ndjson; charset=UTF-8' })).toBe(200);
});

it.each(['on_refusal=ignore', 'check=1', 'check=true&check=true', 'dry_run=true'])('the query %s is refused', async (query) => {
  expect((await sendRecords(gateway, acme.keys.ingest, [{ type: 'call', id: 'query' }], `?${query}`)).status).toBe(400);
  expect((await world.rest('/v1/calls/query', { key: acme.keys.read })).status).toBe(404);
});

it('no line makes the service fail, or stores anything elsewhere', async () => {
  const names = fc.constantFrom(
    'type',
    'id',
    'organization',
    'email',
    'name',
    'deleted',
    'merge',
    'project_id',
    'members',
    'expert',
    '__proto__',
    'a',
  );
  const values = fc.oneof(
    fc.constantFrom<unknown>(
      'call',
      'entity',
      'project',
      'billing_office',
      'user',
      'organization',
      acme.id,
      globex.id,
      true,
      false,
      null,
      'call_1',
      'a\u0000',
      '\ud800',
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const objects = fc.uniqueArray(fc.tuple(names, values), { selector: ([name]) => name, maxLength: 8 }).map((entries) => {
    return `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value) ?? 'null'}`).join(',')}}`;
  });
  const line = fc.oneof({ weight: 8, arbitrary: objects }, fc.json(), fc.string());
  const queries = fc.constantFrom('', '?check=true', '?on_refusal=abort', '?check=true&on_refusal=abort');
  const before = await callOf(world, globex, 'call_1');
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 20 }), queries, async (lines, query) => {
      const { status, json } = await sendRecords(gateway, acme.keys.ingest, lines.join('\n'), query);
      expect([200, 400]).toContain(status);
      if (status === 200) expect(json.accepted + json.unchanged + json.refused).toBeLessThanOrEqual(json.lines);
    }),
    { numRuns: 60 },
  );
  expect(await callOf(world, globex, 'call_1')).toEqual(before);
});
