import { encodeBatch, encodedImporter, fillLine } from '@crs/testing/encoded-batch';
import { expectShortTurns } from '@crs/testing/turns';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callLine, sendBatch, tenant } from './_records.ts';

const MIB = 1024 * 1024;

let world: OwnWorld;
let importer: ReturnType<typeof encodedImporter>;

beforeAll(async () => {
  world = await startWorld();
  await world.load(['acme', 'globex'].flatMap((id) => tenant(id)));
  importer = encodedImporter(world, 'calls');
});
afterAll(async () => {
  importer?.close();
  await world?.close();
});

const named = (id: string) => callLine('acme', id, { expert: { name: 'a' } });
const labels = (id: string, size?: number) => fillLine(named(id), '"transcript":"', () => 'a:\\n', '"}', size);

describe('while a batch is imported, no turn of the event loop is long', () => {
  it.each<[string, Buffer[], object]>([
    ['two texts of 8 MiB with a label on each line', [labels('l'), labels('m')], { errors: [] }],
    [
      'a text of 8 MiB in which each character is escaped',
      [fillLine(callLine('acme', 'l'), '"summary":"', () => '\\n', '"}')],
      { errors: [] },
    ],
    [
      'a note of 8 MiB',
      [fillLine(callLine('acme', 'l'), '"notes":[{"email":"ann@crs.example","text":"', () => 'x\\n', '"}]}')],
      { errors: [] },
    ],
    [
      '8 MiB of unknown properties',
      [fillLine(callLine('acme', 'l'), '"x":0', (i) => `,"k${i}":0`, '}')],
      { errors: [{ reason: 'must have at most 200000 values' }] },
    ],
    [
      '8 MiB of blocks',
      [fillLine(callLine('acme', 'l'), '"qa_blocks":[{}', () => ',{}', ']}')],
      { errors: [{ reason: 'must have at most 200000 values' }] },
    ],
    [
      'the most segments twice',
      [callLine('acme', 'l', { transcript: segments(20_000, 160), redacted_transcript: segments(20_000, 160) })].map((line) =>
        Buffer.from(JSON.stringify(line)),
      ),
      { errors: [] },
    ],
    [
      '200 texts of 64 KiB with a label on each line',
      Array.from({ length: 200 }, (_, i) => labels(`s-${i}`, 65_536)),
      { errors: [] },
    ],
    [
      '200 lines of 1,000 blocks without ids',
      Array.from({ length: 200 }, (_, i) =>
        Buffer.from(JSON.stringify(callLine('acme', `b-${i}`, { qa_blocks: Array(1_000).fill({}) }))),
      ),
      { errors: [] },
    ],
    [
      '100 lines of 1,000 notes of nobody',
      Array.from({ length: 100 }, (_, i) =>
        Buffer.from(
          JSON.stringify(
            callLine('acme', `n-${i}`, { notes: Array.from({ length: 1_000 }, (_n, j) => ({ email: `${i}@${j}` })) }),
          ),
        ),
      ),
      { accepted: 0 },
    ],
  ])(
    '%s',
    async (_, lines, answer) => {
      const bytes = encodeBatch(lines);
      await expectShortTurns(async () => expect(await importer.send('acme', bytes)).toMatchObject(answer));
    },
    180_000,
  );

  it('a message of 8 million empty lines, which is refused', async () => {
    const bytes = Buffer.alloc(16 * MIB, Buffer.from([0x0a, 0]));
    await expectShortTurns(() =>
      expect(importer.send('acme', bytes)).rejects.toMatchObject({ kind: 'invalid_argument', field: 'lines' }),
    );
  });
});

it('while long calls are exported, no turn of the event loop is long', async () => {
  await importer.send('acme', encodeBatch([labels('l'), fillLine(callLine('acme', 'm'), '"summary":"', () => '\\n', '"}')]));
  const { calls } = world.operator.exporters;
  const identity = await world.operator.operator('acme');
  await expectShortTurns(async () => {
    const { lines } = await calls.exportRecords({ type: 'call', after: 'k' }, identity);
    expect(lines[0]!.length).toBeGreaterThan(7 * MIB);
  });
}, 180_000);

describe('a line that is long enough for the worker thread', () => {
  const long = (organization: string, id: string, fields: object = {}) =>
    callLine(organization, id, { summary: `${organization} `.repeat(20_000), ...fields });

  it('is stored for its own organization, whose ids others may have, too', async () => {
    const both = ['acme', 'globex'].map((organization) => sendBatch(world, organization, [long(organization, 'same')]));
    expect(await Promise.all(both)).toEqual(Array(2).fill({ accepted: 1, unchanged: 0, refused: [] }));
    const { rows } = await world.query(
      `select organization, detail_json like '%acme acme%' as acme from calls.calls where call_id = 'same' order by 1`,
    );
    expect(rows).toEqual([
      { organization: 'acme', acme: true },
      { organization: 'globex', acme: false },
    ]);
    expect(await sendBatch(world, 'acme', [long('globex', 'same')])).toMatchObject({
      refused: ['1: organization: must be the organization that the batch is sent for'],
    });
  });

  it('gives the same call as a short one, whichever thread has read its notes and times', async () => {
    const notes = [
      { email: 'ann@crs.example', text: 'a\tb\\' },
      { email: 'bob@crs.example', text: null },
    ];
    const fields = { notes, created_at: '2025-01-01T00:00:00Z', conducted_by: 'bob@crs.example' };
    await sendBatch(world, 'acme', [long('acme', 'twice', fields)]);
    // Spaces between the properties don't change the record, but make this line another one.
    const again = JSON.stringify(long('acme', 'twice', fields)).replace('{', `{${' '.repeat(99)}`);
    expect(await sendBatch(world, 'acme', [again])).toEqual({ accepted: 0, unchanged: 1, refused: [] });
    const { rows } = await world.query(`select text from calls.notes where organization = 'acme' and call_id = 'twice'`);
    expect(rows).toEqual([{ text: 'a\tb\\' }]);
  });
});

function segments(count: number, length: number): object[] {
  return Array.from({ length: count }, () => ({ text: 'x'.repeat(length) }));
}
