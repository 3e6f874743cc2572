import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
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

it('slow senders of two organizations do not delay the small records of a third', async () => {
  const initech = await createSender(world, 'initech');
  const sockets = await Promise.all([acme, acme, globex, globex].map((sender) => stall(sender)));
  // Requests that were sent later are served, so those have their slots.
  for (const { keys } of [acme, globex]) await gateway.rest('/v1/calls/call_1', { key: keys.ingest });
  const send = (sender: Sender, summary: string) =>
    sendRecords(gateway, sender.keys.ingest, [{ type: 'call', id: 'call_1', summary }]);
  let isServed = false;
  const large = send(initech, LONG).finally(() => (isServed = true));
  const small = await Promise.all([initech, globex, acme].map((sender) => send(sender, 'Short.')));
  for (const { json } of small) expect(json).toMatchObject({ accepted: 1 });
  // Every slot of large bodies is taken.
  expect(isServed).toBe(false);
  for (const socket of sockets) socket.destroy();
  expect((await large).json).toMatchObject({ accepted: 1 });
});

it('the body of a waiting request stays with the client', async () => {
  const [first, second] = [await stall(acme), await stall(acme)];
  const filler = 'x'.repeat(9_900_000);
  const waiting = await stall(acme, filler);
  // Neither side's buffers hold that much.
  await expect.poll(() => waiting.writableLength).toBeGreaterThan(0);
  for (let n = 0; n < 10; n++) expect((await gateway.rest('/v1/calls/call_1', { key: acme.keys.read })).status).toBe(200);
  expect(waiting.writableLength).toBeGreaterThan(0);
  for (const socket of [first, second]) socket.destroy();
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
