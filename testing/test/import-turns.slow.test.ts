import { client } from '@crs/kit/rpc/client';
import { ImportRecordsRequest, ImportServiceService, type ImportRecordsResponse } from '@crs/proto/crs/imports/v1/imports';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, describe, expect, it } from 'vitest';

// Services handle the requests of all tenants on one event loop, so no work may hold it for long.

const MIB = 1024 * 1024;
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PEOPLE = Array.from({ length: 1_000 }, (_, i) => `${i}@crs.example`);
type Service = 'calls' | 'entities' | 'projects';

const uuid = (i: number) => `11111111-0000-4000-8000-${String(i).padStart(12, '0')}`;
const call = (id: string, fields: object = {}) => ({ type: 'call', organization: ACME, id, ...fields });
const project = (i: number, fields: object = {}) => ({ type: 'project', organization: ACME, id: uuid(i), ...fields });
const entity = (i: number) => ({ type: 'entity', organization: ACME, project_id: uuid(0), id: uuid(i) });

const many = (count: number, line: (i: number) => object | Buffer): Buffer[] =>
  Array.from({ length: count }, (_, i) => line(i)).map((it) => (Buffer.isBuffer(it) ? it : Buffer.from(JSON.stringify(it))));

/** Makes a line that ends with a field with as many items as fit into its size. @param open the field up to its first item */
function fill(line: object, open: string, item: string, close: string, size = 8 * MIB): Buffer {
  const start = `${JSON.stringify(line).slice(0, -1)},${open}`;
  return Buffer.from(start + item.repeat((size - start.length - close.length) / item.length) + close);
}
const labels = (id: string, size?: number) => fill(call(id, { expert: { name: 'a' } }), '"transcript":"', 'a:\\n', '"}', size);
const overview = (i: number, size?: number) => fill(entity(i), '"overview":"', '\\"', '"}', size);
const segments = (count: number, length: number) => Array.from({ length: count }, () => ({ text: 'x'.repeat(length) }));

const STORED = { errors: [] };
const TOO_MANY = { errors: [{ reason: 'must have at most 200000 values' }] };
const BATCHES: [name: string, service: Service, lines: () => Buffer[], answer: object][] = [
  ['a text of 4 MiB with a label on each line', 'calls', () => [labels('l', 4 * MIB)], STORED],
  ['a text of 8 MiB in which each character is escaped', 'calls', () => [fill(call('l'), '"summary":"', '\\n', '"}')], STORED],
  ['a note of 8 MiB', 'calls', () => [fill(call('l'), '"notes":[{"email":"0@crs.example","text":"', 'x\\n', '"}]}')], STORED],
  ['8 MiB of unknown properties', 'calls', () => [fill(call('l'), '"x":0', ',"k":0', '}')], TOO_MANY],
  ['8 MiB of blocks', 'calls', () => [fill(call('l'), '"qa_blocks":[{}', ',{}', ']}')], TOO_MANY],
  [
    'the most segments twice',
    'calls',
    () => many(1, () => call('l', { transcript: segments(20_000, 160), redacted_transcript: segments(20_000, 160) })),
    STORED,
  ],
  ['30 texts of 64 KiB with a label on each line', 'calls', () => many(30, (i) => labels(`s-${i}`, 65_536)), STORED],
  [
    '30 lines of 1,000 blocks without ids',
    'calls',
    () => many(30, (i) => call(`b-${i}`, { qa_blocks: Array(1_000).fill({}) })),
    STORED,
  ],
  [
    '20 lines of 1,000 notes of people who are not users',
    'calls',
    () => many(20, (i) => call(`n-${i}`, { notes: PEOPLE.map((email) => ({ email: `${i}.${email}` })) })),
    { accepted: 0 },
  ],
  ['a text of 8 MiB of quotes', 'entities', () => [overview(0)], STORED],
  ['100 texts of 64 KiB of quotes', 'entities', () => many(100, (i) => overview(i, 65_536)), STORED],
  [
    '5 projects of 1,000 members',
    'projects',
    () => many(5, (i) => project(i, { members: PEOPLE.map((email) => ({ email, role: i % 2 ? 'lead' : 'member' })) })),
    STORED,
  ],
  ['a text of 8 MiB of quotes', 'projects', () => [fill(project(99), '"summary":"', '\\"', '"}')], STORED],
  ['8 MiB of members', 'projects', () => [fill(project(99), '"members":[{}', ',{}', ']}')], TOO_MANY],
  [
    '40 projects of 1,000 people who are not users',
    'projects',
    () => many(40, (i) => project(i, { members: PEOPLE.map((email) => ({ email: `${i}.${email}` })) })),
    { accepted: 0 },
  ],
];

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization },
      { ...project(0), organization },
      { ...call('l'), organization },
      { ...entity(0), organization },
    ]),
  );
  await world.load(PEOPLE.map((email) => ({ type: 'user', organization: ACME, email })));
});

/** Sends requests that are already encoded: encoding them here would block the event loop, which the test shares with the services. */
const ENCODED = {
  importRecords: { ...ImportServiceService.importRecords, requestSerialize: (bytes: unknown) => bytes as Buffer },
};

async function send(service: Service, batch: Buffer): Promise<ImportRecordsResponse> {
  const address = world.stack.addresses[`${service}Admin`];
  const importer = client(ENCODED, { name: service, address, timeoutMs: 60_000, retry: false });
  try {
    return await importer.importRecords(batch, await world.operator.operator(ACME));
  } finally {
    importer.close();
  }
}

/** Encodes a batch without the ids of its lines, so that a repeated line is not recognized but read again. */
function encode(lines: Buffer[]): Buffer {
  return Buffer.from(ImportRecordsRequest.encode({ lines: lines.map((json, i) => ({ number: i + 1, json, id: '' })) }).finish());
}

/** How long a turn may take here. The goal is 20 ms; a garbage collection of the whole test environment may add to it. */
const LONG_TURN_MS = 50;

/**
 * Fails if a turn of this thread's event loop takes long during the work. Measures CPU time, because a busy machine may interrupt a turn for longer
 * than it takes. A turn may also be long by chance, so the work gets three tries.
 */
async function expectShortTurns(work: () => Promise<unknown>): Promise<void> {
  const tries: number[] = [];
  do {
    if (tries.length === 3) throw new Error(`The longest turns of the event loop took ${tries.map(Math.round).join(', ')} ms.`);
    tries.push(await longestTurn(work));
  } while (tries.at(-1)! > LONG_TURN_MS);
}

async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = process.threadCpuUsage();
  const probe = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
  }, 1);
  try {
    await work();
    // Waits until the turn in which the work ends is measured.
    await new Promise((resolve) => setTimeout(resolve, 5));
  } finally {
    clearInterval(probe);
  }
  return longest;
}

describe('no turn of the event loop is long while this batch is imported:', () => {
  it.each(BATCHES)('%s, to %s', async (_, service, lines, answer) => {
    const batch = encode(lines());
    await expectShortTurns(async () => expect(await send(service, batch)).toMatchObject(answer));
  });

  it('a message of 8 million empty lines, which is refused', async () => {
    const batch = Buffer.alloc(16 * MIB, Buffer.from([0x0a, 0]));
    await expectShortTurns(() =>
      expect(send('calls', batch)).rejects.toMatchObject({ kind: 'invalid_argument', field: 'lines' }),
    );
  });
});

it('no turn of the event loop is long while a long call is exported', async () => {
  await send('calls', encode([fill(call('l'), '"summary":"', '\\n', '"}')]));
  const { calls } = world.operator.exporters;
  await expectShortTurns(async () => {
    const { lines } = await calls.exportRecords({ type: 'call', after: 'k' }, await world.operator.operator(ACME));
    expect(lines[0]!.length).toBeGreaterThan(7 * MIB);
  });
});
