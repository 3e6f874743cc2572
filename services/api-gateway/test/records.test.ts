import { beforeAll, describe, expect, it } from 'vitest';
import { sharedWorld, type World } from '@crs/testing/world';
import { callOf, createSender, ENTITY, PROJECT, RIGHTS, sendRecords, toLines, type Sender } from './_records.ts';

let world: World;
let acme: Sender;
let globex: Sender;

beforeAll(async () => {
  world = await sharedWorld();
  acme = await createSender(world, 'acme');
  globex = await createSender(world, 'globex');
  await world.load([{ type: 'call', organization: globex.id, id: 'call_1', summary: 'Theirs' }]);
});

const EVERY_TYPE = [
  { type: 'user', email: 'bea@acme.example', name: 'Bea' },
  { type: 'billing_office', name: 'London' },
  { type: 'project', id: PROJECT, name: 'Boxes', billing_office_name: 'London', members: [{ email: 'bea@acme.example' }] },
  { type: 'call', id: 'call_1', project_id: PROJECT, conducted_by: 'bea@acme.example', summary: 'Ours' },
  { type: 'entity', id: ENTITY, project_id: PROJECT, name: 'Initech' },
];

describe('records of every type', () => {
  it('are stored for the organization of the key alone, and are unchanged the second time', async () => {
    const first = await sendRecords(world, acme.keys.ingest, EVERY_TYPE);
    expect(first.status).toBe(200);
    expect(first.json).toEqual({ lines: 5, accepted: 5, unchanged: 0, refused: 0, errors: [] });
    expect((await sendRecords(world, acme.keys.ingest, EVERY_TYPE)).json).toMatchObject({ accepted: 0, unchanged: 5 });
    expect(await callOf(world, acme, 'call_1')).toMatchObject({ summary: 'Ours', project_id: PROJECT });
    expect(await callOf(world, globex, 'call_1')).toMatchObject({ summary: 'Theirs', project_id: null });
    expect((await world.rest(`/v1/projects/${PROJECT}`, { key: globex.keys.read })).status).toBe(404);
  });

  it('may name the organization of the key, and no other', async () => {
    const lines = [acme.id, globex.id, null, 7].map((organization, i) => ({ type: 'call', organization, id: `named_${i}` }));
    const { json } = await sendRecords(world, acme.keys.ingest, lines);
    expect(json).toMatchObject({ accepted: 1, refused: 3 });
    const reason = "must be the key's organization, or absent";
    expect(json.errors).toEqual([2, 3, 4].map((line) => ({ line, field: 'organization', reason })));
    expect((await world.rest('/v1/calls/named_1', { key: globex.keys.read })).status).toBe(404);
  });

  it('are counted by line, blank ones included, with LF or CR LF and a byte order mark', async () => {
    const body = '\ufeff{"type":"call","id":"blank_1"}\r\n\r\n \t\n{"type":"call","id":"a b"}\n\n{"type":"call","id":"blank_2"}';
    const { json } = await sendRecords(world, acme.keys.ingest, body);
    expect(json).toMatchObject({ lines: 6, accepted: 2, unchanged: 0, refused: 1 });
    expect(json.errors).toEqual([{ line: 4, field: 'id', reason: expect.stringContaining('must be 1 to 128') }]);
  });
});

describe('a refused line', () => {
  const MIXED = [
    { type: 'call', id: 'mixed_1', rating: 6 },
    'text',
    { type: 'call', id: 'mixed_2' },
    { type: 'call', id: 'mixed_3', project_id: '11111111-2222-4333-8444-000000000000' },
  ];
  const ERRORS = [
    { line: 1, field: 'rating', reason: 'must be at most 5' },
    { line: 2, field: null, reason: 'must be a JSON object' },
    { line: 4, field: 'project_id', reason: expect.stringContaining('project') },
  ];

  it('is named in order, and the others are stored', async () => {
    const { status, json } = await sendRecords(world, acme.keys.ingest, MIXED);
    expect(status).toBe(200);
    expect(json).toEqual({ lines: 4, accepted: 1, unchanged: 0, refused: 3, errors: ERRORS });
    expect(await callOf(world, acme, 'mixed_2')).toMatchObject({ call_id: 'mixed_2' });
  });

  it.each([
    ['refused by the gateway', [{ type: 'call', id: 'abort_1' }, 'text'], 2],
    [
      'refused by the service',
      [
        { type: 'call', id: 'abort_1' },
        { type: 'call', id: 'abort_2', rating: 6 },
      ],
      2,
    ],
    ['of both', [{ type: 'call', id: 'abort_1', rating: 6 }, 'text'], 1],
  ])('aborts the request with on_refusal=abort: %s', async (_, lines, first) => {
    const { status, json } = await sendRecords(world, acme.keys.ingest, lines, '?on_refusal=abort');
    expect(status).toBe(400);
    expect(json.error).toMatchObject({ code: 'bad_request', message: expect.stringContaining('nothing was stored') });
    expect(json.error.details[0]).toMatchObject({ line: first });
    expect((await world.rest('/v1/calls/abort_1', { key: acme.keys.read })).status).toBe(404);
  });

  it('is listed whether the gateway or the service refused it, with on_refusal=abort', async () => {
    const { json } = await sendRecords(world, acme.keys.ingest, MIXED, '?on_refusal=abort');
    expect(json.error.details).toEqual(ERRORS);
    const [first, , ...rest] = MIXED;
    const byService = await sendRecords(world, acme.keys.ingest, [first, ...rest], '?on_refusal=abort');
    expect(byService.json.error.details).toMatchObject([{ field: 'rating' }, { line: 3, field: 'project_id' }]);
  });

  it('may not be of several types with on_refusal=abort', async () => {
    const { status, json } = await sendRecords(world, acme.keys.ingest, EVERY_TYPE, '?on_refusal=abort');
    expect(status).toBe(400);
    expect(json.error.message).toMatch(/^on_refusal: /);
    const alone = await sendRecords(world, acme.keys.ingest, [{ type: 'call', id: 'alone' }], '?on_refusal=abort');
    expect(alone.json).toMatchObject({ accepted: 1 });
  });
});

it('check=true responds the same, and stores nothing', async () => {
  const initech = await createSender(world, 'initech');
  const lines = [...EVERY_TYPE, { type: 'call', id: 'call_2', project_id: '11111111-2222-4333-8444-000000000000' }];
  const checked = await sendRecords(world, initech.keys.ingest, lines, '?check=true');
  expect(checked.json).toMatchObject({ accepted: 5, refused: 1 });
  expect((await world.rest('/v1/calls/call_1', { key: initech.keys.read })).status).toBe(404);
  expect((await world.rest(`/v1/projects/${PROJECT}`, { key: initech.keys.read })).status).toBe(404);
  expect((await sendRecords(world, initech.keys.ingest, lines)).json).toEqual(checked.json);
});

describe('a key', () => {
  it.each(RIGHTS)('with the right %s alone may send what it is for', async (right) => {
    const lines = [
      { type: 'call', id: 'rights_1' },
      { type: 'call', id: 'rights_2', deleted: true },
    ];
    const { status, json } = await sendRecords(world, acme.keys[right], lines);
    if (right === 'read' || right === 'write') {
      expect(status).toBe(404);
      expect(json.error.message).toContain('the right "ingest" or "delete"');
      return;
    }
    const line = right === 'ingest' ? 2 : 1;
    expect(json.errors).toEqual([
      { line, field: right === 'ingest' ? 'deleted' : null, reason: expect.stringContaining('right') },
    ]);
  });

  it.each([
    { type: 'organization', id: 'acme', write_surface: true },
    { type: 'user', email: 'eve@acme.example', password: 'correct horse battery staple' },
    { type: 'user', email: 'ann@acme.example', disabled: true },
    { type: 'user', email: 'ann@acme.example', deleted: true },
    { type: 'project', id: PROJECT, deleted: true },
    { type: 'billing_office', name: 'London', deleted: true },
  ])('may not send %j', async (line) => {
    const { json } = await sendRecords(world, acme.keys.all, [line]);
    expect(json).toMatchObject({ accepted: 0, unchanged: 0, refused: 1 });
  });
});

describe('the limits', () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => ({ type: 'call', id: `many_${i}` }));

  it('admit 1,000 lines besides blank ones, and no more', async () => {
    expect((await sendRecords(world, acme.keys.ingest, `\n${toLines(many(1_000))}\n`)).json).toMatchObject({ accepted: 1_000 });
    const { status, json } = await sendRecords(world, acme.keys.ingest, many(1_001));
    expect([status, json.error.message]).toEqual([400, 'body: must have at most 1000 lines']);
    for (const body of ['', '\n \n']) expect((await sendRecords(world, acme.keys.ingest, body)).status).toBe(400);
  });

  const MIB = 1024 * 1024;
  const longLine = (id: string, bytes: number) => {
    const line = { type: 'call', id, transcript: '' };
    return JSON.stringify({ ...line, transcript: 'x'.repeat(bytes - JSON.stringify(line).length) });
  };

  it('admit a line of 8 MiB, and none that is a byte longer', async () => {
    const { json } = await sendRecords(world, acme.keys.ingest, longLine('long_1', 8 * MIB));
    expect(json).toMatchObject({ accepted: 1, refused: 0 });
    const longer = await sendRecords(world, acme.keys.ingest, longLine('long_2', 8 * MIB + 1));
    expect(longer.json.errors).toEqual([{ line: 1, field: null, reason: 'must be at most 8 MiB long' }]);
  });

  it('admit a body of 16 MiB, and none that is a byte longer', async () => {
    const half = longLine('half_1', 8 * MIB - 1);
    const body = `${half}\n${longLine('half_2', 8 * MIB - 1)}\n`;
    expect((await sendRecords(world, acme.keys.ingest, body)).json).toMatchObject({ accepted: 2 });
    expect((await sendRecords(world, acme.keys.ingest, `${body}\n`)).status).toBe(413);
  });
});
