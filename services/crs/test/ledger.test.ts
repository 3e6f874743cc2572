import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { keepLedger, loadLedger, type LedgerEntry } from '../src/people/ledger.ts';

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'crs-ledger-'));
  file = join(directory, 'erasures.json');
});
afterEach(() => rm(directory, { recursive: true }));

const entry = (n: number, fields: Partial<LedgerEntry> = {}): LedgerEntry => ({
  organization: 'acme',
  erasure_id: `00000000-0000-4000-8000-00000000000${n}`,
  at: `2026-01-0${n}T00:00:00.000Z`,
  by: 'ann',
  kind: 'calls',
  count: 0,
  held: 0,
  completed_at: null,
  salt: '00',
  email: null,
  names: ['11'],
  employer: null,
  calls: [],
  held_calls: [],
  ...fields,
});

it('a ledger keeps the entries of its file, in the order of time, and nothing else is left in the directory', async () => {
  await keepLedger(file, [entry(2)], false);
  await keepLedger(file, [entry(3), entry(1), entry(2, { organization: 'globex' })], true);
  const kept = await loadLedger(file);
  expect(kept.map(({ organization, at }) => `${organization} ${at.slice(0, 10)}`)).toEqual([
    'acme 2026-01-01',
    'acme 2026-01-02',
    'globex 2026-01-02',
    'acme 2026-01-03',
  ]);
  expect(await readdir(directory)).toEqual(['erasures.json']);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

it('a ledger keeps the calls of an erasure that a restored database has only begun', async () => {
  const completed = entry(1, { calls: ['aa', 'bb'], count: 2, completed_at: '2026-01-01T00:00:01.000Z' });
  await keepLedger(file, [completed], false);
  await keepLedger(file, [entry(1, { calls: ['aa'], count: 1 })], true);
  expect(await loadLedger(file)).toEqual([completed]);
  await keepLedger(file, [entry(1, { calls: ['cc'], count: 1, completed_at: '2026-02-01T00:00:00.000Z' })], true);
  expect(await loadLedger(file)).toEqual([
    { ...completed, calls: ['aa', 'bb', 'cc'], count: 3, completed_at: '2026-02-01T00:00:00.000Z' },
  ]);
});

it('a file that is no ledger is not replaced', async () => {
  await expect(keepLedger(import.meta.filename, [entry(1)], true)).rejects.toThrow('is not a ledger');
});
