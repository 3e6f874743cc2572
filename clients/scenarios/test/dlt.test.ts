/** Checks that what the dlt source loads into DuckDB is equal to the Python client's copy, whatever happens during and between the loads. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKey } from '@crs/testing/credentials';
import type { Fault } from '@crs/testing/fault-proxy';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { copyIn } from '../src/copy.ts';
import { act, PROGRAMS, run, startResponder, type Programs, type Responder } from '../src/programs.ts';
import { call, startClientWorld, type ClientWorld } from '../src/world.ts';

type Records = Record<string, Record<string, unknown>>;
/** The records by table and id. */
type Tables = Record<'calls' | 'projects' | 'entities', Records>;

// dlt would report each run to its makers.
process.env['RUNTIME__DLTHUB_TELEMETRY'] = 'false';
// dlt warns about columns without values.
process.env['RUNTIME__LOG_LEVEL'] = 'ERROR';
const { load, runner = [], warehouse } = PROGRAMS['python'] ?? ({} as Partial<Programs>);

const unavailable: Fault = { status: 503, headers: { 'Retry-After': '1' } };
const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const record = (type: 'project' | 'entity', n: number, more: object = {}) => ({
  ...{ type, organization: 'acme', id: uuid(n), created_at: '2025-03-01T00:00:00Z' },
  // The first name looks like a timestamp, and the others don't.
  name: n === 1 ? '2025-03-01T00:00:00Z' : `${type} ${n}: "quoted" \u{1f600}`,
  ...(type === 'entity' && { project_id: uuid(1), description: 'Hidden from some.', is_competitor: n === 2 }),
  ...more,
});
const deletion = (type: string, id: string) => ({ type, organization: 'acme', id, deleted: true });
const settings = (more: object) => ({ type: 'organization', id: 'acme', name: 'Acme', ...more });
const people = [
  { name: 'Ann', role: 'host' },
  { name: 'Bob', role: null },
];
/** More than fit on a page of 50. */
const CALLS = Array.from({ length: 60 }, (_, n) =>
  call(`call-${n}`, {
    project_id: uuid(1),
    participants: n % 2 ? people : [],
    rating: n % 3 ? 1 + (n % 5) : 2.5,
    ...(n < 3 && { transcript: [{ speaker: null, start_seconds: 1, text: '2025-03-01T00:00:00Z' }] }),
    qa_blocks: [{ id: uuid(n), question: 'Why?', answer: n % 2 ? 'Because.' : null }],
  }),
);
const FIELDS = [
  'summary',
  'rating',
  'interviewee.name',
  'participants',
  'qa_blocks',
  'transcripts.verbatim',
  'transcripts.clean',
];
const RECORDS = [
  settings({ allowed_fields: FIELDS }),
  ...[1, 2, 3].map((n) => record('project', n)),
  ...CALLS,
  ...[1, 2, 3, 4, 5].map((n) => record('entity', n)),
];

/** Returns a value without properties that are null or empty, because a table can't tell them from absent ones. */
function prune(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(prune);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([name, each]) => [name, prune(each)] as const);
  return Object.fromEntries(
    entries.filter(([, each]) => each !== null && (typeof each !== 'object' || Object.keys(each).length > 0)),
  );
}

describe.skipIf(load === undefined)('dlt source', { timeout: 300_000 }, () => {
  let system: ClientWorld;
  let directory: string;
  let dataset: string;
  beforeAll(async () => {
    system = await startClientWorld();
    directory = mkdtempSync(join(tmpdir(), 'crs-dlt-'));
  }, 120_000);
  afterAll(async () => {
    rmSync(directory, { recursive: true, force: true });
    await system?.close();
  });
  let datasets = 0;
  let loader: Responder | undefined;
  beforeEach(async () => {
    await system.load(RECORDS);
    dataset = `acme_${datasets++}`;
    system.proxy.reset();
  });
  afterEach(stopLoader);

  /** Ends the process of the pipeline. The next load starts another one. */
  async function stopLoader(): Promise<void> {
    await loader?.stop();
    loader = undefined;
  }

  /** Runs the pipeline, and returns what DuckDB has then. */
  async function loadTables(more: object = {}): Promise<Tables> {
    loader ??= startResponder(load!);
    return loader.request({
      ...{ base_url: system.proxy.baseUrl, key: system.key, database: join(directory, 'test.duckdb'), dataset },
      ...{ directory: join(directory, 'pipelines'), ...more },
    });
  }
  /** Returns what the Python client has in its copy after a sync. */
  async function copied(key = system.key): Promise<Tables> {
    const copy = copyIn(`sqlite:${join(directory, `${dataset}-${key}.db`)}`);
    const types = ['call', 'project', 'entity'] as const;
    await act(runner, { action: 'sync', base_url: system.proxy.baseUrl, key, store: copy.address, query: { types } });
    const [calls, projects, entities] = await Promise.all(
      types.map(async (type) => {
        const documents = await copy.documents(type);
        return Object.fromEntries([...documents].map(([id, text]) => [id, prune(JSON.parse(text))])) as Records;
      }),
    );
    return { calls: calls!, projects: projects!, entities: entities! };
  }
  const paths = () => system.proxy.exchanges.map(({ path }) => path);

  it('loads all records, then changes and deletions, although requests fail and records move meanwhile', async () => {
    system.proxy.reset(async (_exchange, index) => {
      if (index === 1) {
        await system.load([call('call-20', { rating: 1 }), deletion('call', 'call-21')]);
        return unavailable;
      }
      return index === 2 || index === 5 ? { cut: 'inside' } : undefined;
    });
    const first = await loadTables();
    expect(first).toEqual(await copied());
    expect(Object.keys(first.calls)).toHaveLength(59);
    expect(first.calls['call-1']).toMatchObject({
      participants: prune(people),
      transcripts: [{ segments: [{ text: '2025-03-01T00:00:00Z' }] }, {}],
    });

    await system.load([
      ...[deletion('call', 'call-4'), call('call-5', { participants: [], transcript: null }), call('new')],
      ...[record('project', 2, { name: null }), deletion('project', uuid(3))],
      ...[record('entity', 6), deletion('entity', uuid(5))],
    ]);
    system.proxy.reset();
    await stopLoader();
    const second = await loadTables();
    expect(paths().every((path) => path.includes('cursor='))).toBe(true);
    expect(second).toEqual(await copied());
    expect(second.calls['call-4']).toBeUndefined();
    await system.load([deletion('call', 'new'), deletion('entity', uuid(6))]);
    expect(await loadTables()).toEqual(await copied());
  });

  it('loads nothing, not even its state, if nothing has changed', async () => {
    const idle = async () => {
      system.proxy.reset();
      await loadTables();
      return paths();
    };
    await loadTables();
    const first = await idle();
    expect(first).toHaveLength(3);
    expect(await idle()).toEqual(first);
  });

  it('replaces the tables after a change of settings, and merges afterwards', async () => {
    await loadTables();
    await system.load([settings({ allowed_fields: ['rating'] }), deletion('call', 'call-6')]);
    const replaced = await loadTables();
    expect(replaced).toEqual(await copied());
    expect(replaced.calls['call-1']).not.toHaveProperty('transcripts');
    await system.load([settings({ allowed_fields: FIELDS }), call('call-7', { rating: 1 })]);
    expect(await loadTables()).toEqual(await copied());
    await system.load([call('call-7', { rating: 3 }), deletion('call', 'call-8')]);
    expect(await loadTables()).toEqual(await copied());
  });

  it('replaces the tables if settings change during a read of changes', async () => {
    await loadTables();
    await system.load([...CALLS.map((each) => ({ ...each, rating: 1 })), deletion('call', 'call-8')]);
    system.proxy.reset(async (_exchange, index) => {
      if (index === 1) await system.load([settings({ allowed_fields: ['rating'] }), deletion('call', 'call-9')]);
      return undefined;
    });
    expect(await loadTables()).toEqual(await copied());
  });

  it('replaces the tables if the API rejects the cursor, so that records deleted meanwhile are removed', async () => {
    await loadTables();
    await system.load([deletion('call', 'call-10'), deletion('project', uuid(2))]);
    await system.load([1, 2, 3, 4, 5].map((n) => deletion('entity', uuid(n))));
    await system.pruneDeletions();
    const tables = await loadTables();
    expect(tables).toEqual(await copied());
    expect(tables.calls).not.toHaveProperty('call-10');
    expect(tables.entities).toEqual({});
  });

  it('loses no change if a run ends before its load, whether or not its directory remains', async () => {
    await loadTables();
    await system.load([deletion('call', 'call-11'), call('call-12', { rating: 1 })]);
    await loadTables({ extract_only: true });
    await stopLoader();
    // On another machine, dlt restores the state of the last load from the dataset.
    const elsewhere = { directory: join(directory, 'other-pipelines') };
    expect(await loadTables(elsewhere)).toEqual(await copied());
    expect(await loadTables()).toEqual(await copied());
  });

  it('loads two organizations with the same ids into two datasets', async () => {
    await system.load([
      ...[{ type: 'organization', id: 'other', name: 'Other', write_surface: true }],
      ...[1, 2].map((n) => ({ ...record('project', n, { name: 'Of the other' }), organization: 'other' })),
      ...CALLS.map((each) => ({ ...each, organization: 'other', summary: 'Of the other.' })),
    ]);
    const key = await createKey(system.world.operator, 'other');
    const other = { key, dataset: `${dataset}_other` };
    expect(await loadTables()).toEqual(await copied());
    const othersTables = await loadTables(other);
    expect(othersTables).toEqual(await copied(key));
    expect(othersTables).toMatchObject({ projects: { [uuid(1)]: { name: 'Of the other' } }, entities: {} });
    await system.load([deletion('call', 'call-13')]);
    expect((await loadTables(other)).calls).toHaveProperty('call-13');
    expect((await loadTables()).calls).not.toHaveProperty('call-13');
    // The other organization's cursors are refused, so the tables are replaced.
    expect((await loadTables({ key })).calls).toEqual((await copied(key)).calls);
  });

  it('has a working tutorial program that draws a chart', async () => {
    const env = { CRS_API_KEY: system.key, CRS_BASE_URL: system.proxy.baseUrl, DLT_DATA_DIR: directory };
    const output = await run([...warehouse!, join(directory, 'tutorial.duckdb')], '', env);
    expect(output).toMatch(/^█{30} +750 minutes {2}2025-03-01T00:00:00Z$/m);
  });
});
