import { expect, it } from 'vitest';
import { batchesOf } from '../src/records.ts';

const MIB = 1024 * 1024;
/** A record whose line has this many bytes without its end. */
const ofSize = (bytes: number) => ({ id: 'x'.repeat(bytes - '{"id":""}'.length) });
const sizes = async (records: object[]) => (await Array.fromAsync(batchesOf(records))).map(({ body }) => body.length);

it('a batch has at most 1,000 records, in their order, from an iterable or an async iterable', async () => {
  const records = Array.from({ length: 2_001 }, (_, n) => ({ n }));
  const stream = async function* () {
    yield* records;
  };
  for (const source of [records, records.values(), stream()]) {
    const batches = await Array.fromAsync(batchesOf(source));
    expect(batches.map(({ start }) => start)).toEqual([0, 1_000, 2_000]);
    expect(batches.map(({ body }) => body).join('')).toBe(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  }
});

it('a batch has at most 16 MiB with its line ends', async () => {
  expect(await sizes([ofSize(8 * MIB - 1), ofSize(8 * MIB - 1)])).toEqual([16 * MIB]);
  expect(await sizes([ofSize(8 * MIB - 1), ofSize(8 * MIB)])).toEqual([8 * MIB, 8 * MIB + 1]);
  // Bytes count, not characters.
  expect(await sizes([{ id: 'é'.repeat(4 * MIB - 10) }, { id: 'é'.repeat(4 * MIB - 10) }, {}])).toHaveLength(1);
  expect(await sizes([{ id: 'é'.repeat(4 * MIB - 10) }, { id: 'é'.repeat(4 * MIB - 10) }, ofSize(100)])).toHaveLength(2);
});

it('a record over 8 MiB is an error with its position', async () => {
  await expect(sizes([{}, ofSize(8 * MIB)])).resolves.toHaveLength(1);
  await expect(sizes([{}, ofSize(8 * MIB + 1)])).rejects.toMatchObject({
    name: 'BadRequestError',
    status: null,
    message: expect.stringMatching(/^line 2: must be at most 8 MiB/),
  });
});

it('no records are no batches', async () => {
  expect(await sizes([])).toEqual([]);
});
