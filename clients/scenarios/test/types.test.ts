/** Checks lists of projects and entities, and copies that have them besides calls, with each client library. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { copyIn, type Copy } from '../src/copy.ts';
import { act, PROGRAMS } from '../src/programs.ts';
import type { Fault } from '@crs/testing/fault-proxy';
import { call, RANGE, startClientWorld, type ClientWorld } from '../src/world.ts';

let system: ClientWorld;
let directory: string;
let database: TestDatabase;
beforeAll(async () => {
  system = await startClientWorld();
  directory = mkdtempSync(join(tmpdir(), 'crs-copies-'));
}, 120_000);
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await system?.close();
});

const TYPES = ['call', 'project', 'entity'];
const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const createdAt = (n: number) => new Date(Date.UTC(2025, 2, 1, 0, n)).toISOString();
const record = (type: 'project' | 'entity', n: number, more: object = {}) => ({
  ...{ type, organization: 'acme', id: uuid(n), created_at: createdAt(n), name: `${type} ${n}: "quoted" \u{1f600}` },
  ...(type === 'entity' && { project_id: uuid(1), description: 'Hidden from some.' }),
  ...more,
});
const deletion = (type: string, id: string) => ({ type, organization: 'acme', id, deleted: true });
const settings = (more: object) => ({ type: 'organization', id: 'acme', name: 'Acme', ...more });
const CALLS = Array.from({ length: 23 }, (_, n) => call(`call-${n}`));
const PROJECTS = [1, 2, 3].map((n) => record('project', n));
const ENTITIES = [1, 2, 3, 4, 5].map((n) => record('entity', n));
const unavailable: Fault = { status: 503, headers: { 'Retry-After': '1' } };

describe.each(Object.entries(PROGRAMS))('%s', (language, { runner }) => {
  beforeEach(async () => {
    database = await createDatabase(inject('postgresUrl'));
    await system.load([settings({ allowed_fields: ['summary', 'rating'] }), ...CALLS, ...PROJECTS, ...ENTITIES]);
    system.proxy.reset();
  });
  afterEach(() => database.drop());

  let copies = 0;
  const inSqlite = () => copyIn(`sqlite:${join(directory, `${language}-${copies++}.db`)}`);
  const inPostgres = () => copyIn(database.url);
  const send = (request: object) => act(runner, { base_url: system.proxy.baseUrl, key: system.key, ...request });
  const sync = (copy: Copy, query: object = {}) =>
    send({ action: 'sync', store: copy.address, query: { types: TYPES, limit: 6, ...query } });

  /** The JSON texts of the items of a list, by id. */
  async function listed(path: string, id: string): Promise<Record<string, string>> {
    const { data } = JSON.parse(await system.ask(`/${path}?limit=1000`)) as { data: Record<string, string>[] };
    return Object.fromEntries(data.map((item) => [item[id]!, JSON.stringify(item)]));
  }
  async function expectUpToDate(copy: Copy): Promise<void> {
    const list = await system.ask(`/calls?${new URLSearchParams({ ...RANGE, per_page: '200' }).toString()}`);
    const ids = (JSON.parse(list) as { data: { call_id: string }[] }).data.map(({ call_id: id }) => id);
    const copied = await Promise.all((['call', 'project', 'entity'] as const).map((type) => copy.documents(type)));
    // Lists may still reflect settings of a second ago. The copy must not.
    await vi.waitFor(
      async () => {
        const calls = await Promise.all(ids.map(async (id): Promise<[string, string]> => [id, await system.ask(`/calls/${id}`)]));
        const expected = [
          Object.fromEntries(calls),
          await listed('projects', 'project_id'),
          await listed('entities', 'entity_id'),
        ];
        expect(copied.map((each) => Object.fromEntries(each))).toEqual(expected);
      },
      { timeout: 5_000, interval: 250 },
    );
    expect(await copy.position()).toEqual({ cursor: expect.any(String), resync: null });
  }

  it('iterates over the projects and entities of all pages', async () => {
    for (const [action, id] of [
      ['projects', 'project_id'],
      ['entities', 'entity_id'],
    ] as const) {
      system.proxy.reset((_exchange, index) => (index === 0 ? unavailable : undefined));
      const { result } = await send({ action });
      const { data } = JSON.parse(await system.ask(`/${action}?limit=1000`)) as { data: Record<string, unknown>[] };
      expect(result).toEqual(data);
      expect(result.map((item: Record<string, unknown>) => item[id])).toContain(uuid(1));
      expect(system.proxy.exchanges.map(({ path }) => path)).toEqual(Array.from({ length: 2 }, () => `/v1/${action}?limit=1000`));
    }
  });

  it('follows the cursors of a list, and stops at one that does not move', async () => {
    const page = (ids: number[], next: string | null) =>
      JSON.stringify({ data: ids.map((n) => ({ entity_id: uuid(n) })), next_cursor: next });
    const bodies = [page([1, 2], 'one'), page([3], 'two'), page([], null)];
    system.proxy.reset((_exchange, index) => ({ status: 200, body: bodies[index]! }));
    const { result } = await send({ action: 'entities' });
    expect(result.map((item: { entity_id: string }) => item.entity_id)).toEqual([1, 2, 3].map(uuid));
    system.proxy.reset(() => ({ status: 200, body: bodies[0]! }));
    const stuck = await send({ action: 'entities' });
    expect(stuck.error).toMatchObject({ type: 'ProtocolError' });
  });

  it.each([
    ['SQLite', inSqlite],
    ['PostgreSQL', inPostgres],
  ])('fills a copy of all types in %s, then applies later changes', async (_name, create) => {
    const copy = create();
    expect((await sync(copy)).result).toEqual({ changed: 31, deleted: 0, full_resyncs: 1 });
    await expectUpToDate(copy);
    await system.load([
      ...[record('project', 2, { name: null }), record('entity', 6), record('entity', 1, { overview: 'New.' })],
      ...[deletion('entity', uuid(5)), deletion('project', uuid(3)), deletion('call', 'call-4'), call('call-5', { rating: 1 })],
    ]);
    expect((await sync(copy)).result).toEqual({ changed: 4, deleted: 3, full_resyncs: 0 });
    await expectUpToDate(copy);
    await system.load([deletion('entity', uuid(6))]);
  });

  it('syncs correctly although requests fail, records move and settings change during the full resync', async () => {
    const copy = inPostgres();
    system.proxy.reset(async (_exchange, index) => {
      if (index === 1) await system.load([deletion('entity', uuid(1)), record('project', 1, { name: 'Moved' })]);
      if (index === 2) return unavailable;
      if (index === 3) return { cut: 'inside' };
      if (index === 4) await system.load([settings({ allowed_fields: ['rating'] }), deletion('entity', uuid(2))]);
      return undefined;
    });
    const { result } = await sync(copy);
    expect(result.full_resyncs).toBe(2);
    await expectUpToDate(copy);
    expect((await copy.documents('entity')).get(uuid(3))).not.toContain('description');
  });

  it('starts a full resync if the types of a copy change, or deletions were pruned', async () => {
    const copy = inSqlite();
    const callsAlone = { types: ['call'] };
    expect((await sync(copy, callsAlone)).result).toEqual({ changed: 23, deleted: 0, full_resyncs: 1 });
    expect((await copy.documents('project')).size).toBe(0);
    expect((await sync(copy)).result).toEqual({ changed: 31, deleted: 0, full_resyncs: 1 });
    await expectUpToDate(copy);
    await system.load([deletion('entity', uuid(4))]);
    await system.pruneDeletions();
    expect((await sync(copy)).result).toEqual({ changed: 30, deleted: 0, full_resyncs: 1 });
    await expectUpToDate(copy);
    expect((await sync(copy, callsAlone)).result).toEqual({ changed: 23, deleted: 0, full_resyncs: 1 });
    expect((await copy.documents('entity')).size).toBe(0);
  });

  it.each(Object.entries(PROGRAMS))('continues a copy of all types that the %s client began', async (_language, other) => {
    const copy = inPostgres();
    const began = {
      action: 'sync',
      base_url: system.proxy.baseUrl,
      key: system.key,
      store: copy.address,
      query: { types: TYPES },
    };
    await act(other.runner, began);
    await system.load([deletion('entity', uuid(2)), record('project', 1, { name: 'Again' })]);
    expect((await sync(copy)).result).toEqual({ changed: 1, deleted: 1, full_resyncs: 0 });
    await expectUpToDate(copy);
  });
});
