import { beforeAll, describe, expect, it } from 'vitest';
import { sharedWorld, type World } from '@crs/testing/world';
import { callOf, createSender, JSON_TYPE, RIGHTS, type Sender } from './_records.ts';

let world: World;
let acme: Sender;
let globex: Sender;

beforeAll(async () => {
  world = await sharedWorld();
  acme = await createSender(world, 'acme');
  globex = await createSender(world, 'globex');
});

const send = (method: string, path: string, key: string, body?: unknown) =>
  world.rest(`/v1/calls/${path}`, {
    method,
    key,
    ...(body !== undefined && { headers: JSON_TYPE, body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
const resultOf = async (...parameters: Parameters<typeof send>) => {
  const { status, json } = await send(...parameters);
  return [status, json?.result ?? json?.error?.message];
};

describe('PUT', () => {
  it('creates a call, replaces it, and leaves it unchanged, for the organization of the key alone', async () => {
    const created = await send('PUT', 'put_1', acme.keys.ingest, { summary: 'One', rating: 4 });
    expect([created.status, created.headers.get('location')]).toEqual([201, '/v1/calls/put_1']);
    expect(created.json).toEqual({ call_id: 'put_1', result: 'created' });
    expect(await resultOf('PUT', 'put_1', globex.keys.ingest, {})).toEqual([201, 'created']);
    expect(await resultOf('PUT', 'put_1', acme.keys.ingest, { summary: 'Two' })).toEqual([200, 'replaced']);
    expect(await resultOf('PUT', 'put_1', acme.keys.ingest, { summary: 'Two' })).toEqual([200, 'unchanged']);
    expect(await callOf(world, acme, 'put_1')).toMatchObject({ summary: 'Two', rating: null });
    expect(await callOf(world, globex, 'put_1')).toMatchObject({ summary: null });
  });

  it.each(['type', 'organization', 'id', 'deleted', 'merge'])(
    'refuses the property %s, also if it is spelled with escapes',
    async (name) => {
      const escaped = `{"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}":null}`;
      for (const body of [{ [name]: 'call', summary: 'x' }, escaped]) {
        const [status, message] = await resultOf('PUT', 'put_2', acme.keys.ingest, body);
        expect([status, message]).toEqual([400, `${name}: must be absent: the path and the method of the request say it`]);
      }
    },
  );

  it.each([
    ['rating: must be at most 5', { rating: 6 }],
    ['nonsense: is not a known property', { nonsense: 1 }],
    ['conducted_by: ', { conducted_by: 'nobody@acme.example' }],
    ['body: must be valid JSON', '{"summary":"x"}{}'],
    ['body: must be a JSON object', '[]'],
  ])('refuses a body, and says why: %s', async (message, body) => {
    expect(await resultOf('PUT', 'put_3', acme.keys.ingest, body)).toEqual([400, expect.stringContaining(message)]);
  });

  it.each(['a b', 'ä', 'x'.repeat(129), '%00'])('refuses an id that an import refuses: %s', async (id) => {
    expect(await resultOf('PUT', encodeURIComponent(id), acme.keys.ingest, {})).toEqual([
      400,
      expect.stringMatching(/^call_id: /),
    ]);
  });

  it('admits a body of 8 MiB in several lines, and none that is a byte longer', async () => {
    const bodyOf = (bytes: number) => `{\n"transcript":"${'x'.repeat(bytes - 18)}"}`;
    const longest = bodyOf(8 * 1024 * 1024);
    expect(Buffer.byteLength(longest)).toBe(8 * 1024 * 1024);
    expect(await resultOf('PUT', 'x'.repeat(128), acme.keys.ingest, longest)).toEqual([201, 'created']);
    expect((await send('PUT', 'put_4', acme.keys.ingest, bodyOf(8 * 1024 * 1024 + 1))).status).toBe(413);
  });
});

describe('PATCH', () => {
  it('changes what the body has, and leaves the call of another organization alone', async () => {
    for (const { keys } of [acme, globex]) await send('PUT', 'patch_1', keys.ingest, { summary: 'One', rating: 4 });
    expect(await resultOf('PATCH', 'patch_1', acme.keys.ingest, { rating: 5 })).toEqual([200, 'merged']);
    expect(await resultOf('PATCH', 'patch_1', acme.keys.ingest, { rating: 5 })).toEqual([200, 'unchanged']);
    expect(await resultOf('PATCH', 'patch_1', acme.keys.ingest, {})).toEqual([200, 'unchanged']);
    expect(await callOf(world, acme, 'patch_1')).toMatchObject({ summary: 'One', rating: 5 });
    expect(await resultOf('PATCH', 'patch_1', acme.keys.ingest, { summary: null })).toEqual([200, 'merged']);
    expect(await callOf(world, acme, 'patch_1')).toMatchObject({ summary: null });
    expect(await callOf(world, globex, 'patch_1')).toMatchObject({ summary: 'One', rating: 4 });
  });

  it('finds no call with an unknown, malformed or foreign id', async () => {
    await send('PUT', 'foreign', globex.keys.ingest, {});
    for (const id of ['unknown', 'a%20b', 'foreign']) {
      expect(await resultOf('PATCH', id, acme.keys.ingest, { rating: 5 })).toEqual([404, 'There is no call with this id.']);
    }
    expect(await resultOf('PATCH', 'patch_1', acme.keys.ingest, { rating: 6 })).toEqual([400, 'rating: must be at most 5']);
  });
});

describe('DELETE', () => {
  it('deletes a call of the organization alone, once', async () => {
    for (const { keys } of [acme, globex]) await send('PUT', 'delete_1', keys.ingest, {});
    const deleted = await send('DELETE', 'delete_1', acme.keys.delete);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    for (const id of ['delete_1', 'unknown', 'a%20b']) {
      expect(await resultOf('DELETE', id, acme.keys.delete)).toEqual([404, 'There is no call with this id.']);
    }
    expect(await callOf(world, globex, 'delete_1')).toMatchObject({ call_id: 'delete_1' });
    expect((await send('DELETE', 'delete_1?x=1', globex.keys.delete)).status).toBe(400);
  });
});

it.each([
  ['GET', 'read', undefined],
  ['PUT', 'ingest', {}],
  ['PATCH', 'ingest', {}],
  ['DELETE', 'delete', undefined],
] as const)('%s needs the right %s, and no other', async (method, needed, body) => {
  for (const right of RIGHTS) {
    await send('PUT', 'rights', acme.keys.ingest, { summary: right });
    const { status, json } = await send(method, 'rights', acme.keys[right], body);
    if (right === needed) expect(status).toBeLessThan(300);
    else expect([status, json.error.message]).toEqual([404, expect.stringContaining(`the right "${needed}"`)]);
  }
});

it('a path with several methods lists them, and checks the rest of the request in the documented order', async () => {
  const path = '/v1/calls/order';
  const { status, headers } = await world.rest(path, { method: 'POST', key: acme.keys.read });
  expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT, PATCH, DELETE']);
  const text = { 'content-type': 'text/plain' };
  const statusOf = async (key: string, more: object) =>
    (await world.rest(path, { method: 'PUT', key, body: '{', ...more })).status;
  expect(await statusOf(acme.keys.read, { headers: { ...text, accept: 'text/html' } })).toBe(406);
  expect(await statusOf(acme.keys.read, { headers: text })).toBe(404);
  expect(await statusOf(acme.keys.ingest, { headers: text })).toBe(415);
  expect(await statusOf(acme.keys.ingest, { headers: JSON_TYPE })).toBe(400);
});
