/** Checks that a copy kept by each client library ends up equal to the calls that the API returns, byte by byte, whatever happens during the sync. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { copyIn, type Copy } from '../src/copy.ts';
import { act, PROGRAMS, run } from '../src/programs.ts';
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

const unavailable: Fault = { status: 503, headers: { 'Retry-After': '1' } };
const deletion = (id: string) => ({ type: 'call', organization: 'acme', id, deleted: true });
const settings = (more: object) => ({ type: 'organization', id: 'acme', name: 'Acme', ...more });
/** Loaded before each test, so that each begins with the same calls. */
const CALLS = Array.from({ length: 23 }, (_, n) => call(`call-${n}`));
const FIELDS = ['summary', 'rating', 'interviewee.name', 'transcripts.verbatim'];

describe.each(Object.entries(PROGRAMS))('%s', (language, { runner, sqlite, postgres }) => {
  beforeEach(async () => {
    database = await createDatabase(inject('postgresUrl'));
    await system.load([settings({ allowed_fields: FIELDS, anonymize_interviewees: false }), ...CALLS]);
    system.proxy.reset();
  });
  afterEach(() => database.drop());

  let copies = 0;
  const inSqlite = () => copyIn(`sqlite:${join(directory, `${language}-${copies++}.db`)}`);
  const inPostgres = () => copyIn(database.url);

  const sync = (copy: Copy, more: object = {}) =>
    act(runner, { action: 'sync', base_url: system.proxy.baseUrl, key: system.key, store: copy.address, ...more });
  const pagesOf = (limit: number) => ({ query: { limit } });
  /** Checks that the copy has exactly the details that the API returns, and that no resync is pending. */
  async function expectUpToDate(copy: Copy): Promise<void> {
    const list = await system.ask(`/calls?${new URLSearchParams({ ...RANGE, per_page: '200' }).toString()}`);
    const ids = (JSON.parse(list) as { data: { call_id: string }[] }).data.map(({ call_id: id }) => id).toSorted();
    const documents = Object.fromEntries(await copy.documents());
    // Details may still reflect settings of a second ago. The copy must not.
    await vi.waitFor(
      async () => {
        const details = await Promise.all(ids.map(async (id) => [id, await system.ask(`/calls/${id}`)]));
        expect(documents).toEqual(Object.fromEntries(details));
      },
      { timeout: 5_000, interval: 250 },
    );
    expect(await copy.position()).toEqual({ cursor: expect.any(String), resync: null });
  }

  it('iterates over all changes', async () => {
    const { result } = await act(runner, {
      action: 'changes',
      base_url: system.proxy.baseUrl,
      key: system.key,
      query: { limit: 5 },
    });
    const ids = result
      .filter(({ type }: { type: string }) => type === 'call.changed')
      .map((change: { call_id: string }) => change.call_id);
    expect(ids.toSorted()).toEqual(CALLS.map(({ id }) => id).toSorted());
    expect(system.proxy.exchanges.length).toBeGreaterThanOrEqual(5);
  });

  it.each([
    ['SQLite', inSqlite],
    ['PostgreSQL', inPostgres],
  ])('fills a copy in %s, then applies later changes', async (_name, create) => {
    const copy = create();
    const first = await sync(copy, pagesOf(10));
    expect(first.result).toEqual({ changed: 23, deleted: 0, full_resyncs: 1 });
    await expectUpToDate(copy);
    expect((await sync(copy)).result).toEqual({ changed: 0, deleted: 0, full_resyncs: 0 });
    await system.load([call('call-3', { summary: null }), deletion('call-4'), call('new')]);
    expect((await sync(copy)).result).toEqual({ changed: 2, deleted: 1, full_resyncs: 0 });
    await expectUpToDate(copy);
    await system.load([deletion('new')]);
  });

  it('syncs correctly although calls change, appear and vanish, and requests fail, during the full resync', async () => {
    const copy = inPostgres();
    system.proxy.reset(async (_exchange, index) => {
      if (index === 1) await system.load([deletion('call-0'), call('call-20', { rating: 1 }), call('late')]);
      if (index === 2) return unavailable;
      if (index === 3) return { cut: 'inside' };
      if (index === 4) await system.load([deletion('late'), deletion('call-22'), call('call-1', { summary: 'Other.' })]);
      return undefined;
    });
    const { result } = await sync(copy, pagesOf(6));
    expect(result.full_resyncs).toBe(1);
    await expectUpToDate(copy);
  });

  it('removes fields that are no longer allowed, and calls that were deleted meanwhile', async () => {
    const copy = inSqlite();
    await sync(copy);
    await system.load([settings({ allowed_fields: ['rating'], anonymize_interviewees: true }), deletion('call-5')]);
    const { result } = await sync(copy, pagesOf(6));
    expect(result.full_resyncs).toBe(1);
    await expectUpToDate(copy);
    expect((await copy.documents()).get('call-1')).not.toContain('summary');
  });

  it('restarts a full resync if settings change during it', async () => {
    const copy = inPostgres();
    system.proxy.reset(async (_exchange, index) => {
      if (index === 2) await system.load([settings({ allowed_fields: ['rating'] })]);
      return undefined;
    });
    expect((await sync(copy, pagesOf(6))).result.full_resyncs).toBe(2);
    await expectUpToDate(copy);
  });

  it('removes deleted calls although the API no longer has their deletions', async () => {
    const copy = inSqlite();
    await sync(copy);
    await system.load([deletion('call-7'), call('call-8', { rating: 2 })]);
    await system.pruneDeletions();
    const { result } = await sync(copy, pagesOf(6));
    expect(result).toEqual({ changed: 22, deleted: 0, full_resyncs: 1 });
    await expectUpToDate(copy);
  });

  it('keeps its cursor if a parameter is invalid', async () => {
    const copy = inSqlite();
    await sync(copy);
    const before = await copy.position();
    expect((await sync(copy, pagesOf(51))).error).toMatchObject({
      type: 'BadRequestError',
      message: expect.stringContaining('limit'),
    });
    expect(await copy.position()).toEqual(before);
  });

  it('resumes an interrupted full resync at its cursor', async () => {
    const copy = inPostgres();
    system.proxy.reset((_exchange, index) => (index === 2 ? { cut: 'inside' } : undefined));
    const { error } = await sync(copy, { ...pagesOf(6), client: { max_retries: 0 } });
    expect(error).toMatchObject({ type: 'ConnectionError' });
    const { cursor, resync } = await copy.position();
    expect([cursor, resync]).toEqual([expect.any(String), expect.any(String)]);
    expect((await copy.documents()).size).toBe(12);
    system.proxy.reset();
    expect((await sync(copy, pagesOf(6))).result).toEqual({ changed: 11, deleted: 0, full_resyncs: 0 });
    expect(system.proxy.exchanges[0]!.path).toContain(`cursor=${encodeURIComponent(cursor!)}`);
    await expectUpToDate(copy);
  });

  it('completes a sync although the gateway is killed and restarted meanwhile', { timeout: 60_000 }, async () => {
    const copy = inPostgres();
    let restart: Promise<void> | undefined;
    system.proxy.reset(async (_exchange, index) => {
      if (index !== 2) return undefined;
      await system.world.processes.kill('api-gateway');
      restart = system.world.processes.start('api-gateway');
      return undefined;
    });
    const { result } = await sync(copy, pagesOf(6));
    await restart;
    expect(result).toEqual({ changed: 23, deleted: 0, full_resyncs: 1 });
    await expectUpToDate(copy);
  });

  it('stores the JSON of each call byte by byte', async () => {
    const copy = inSqlite();
    const odd = '{ "call_id" : "call-1",\n"duration_minutes":12.500,"big":12345678901234567890,"text":"\\u00e9 \\"}]{[\\\\"}';
    system.proxy.reset(() => ({
      rewrite: () =>
        `{"has_more":false, "data" : [ {"type":"call.changed","call_id":"call-1","changed_at":"2026-01-01T00:00:00.000Z","call":${odd} } ],"next_cursor":"odd"}`,
    }));
    await sync(copy);
    expect([...(await copy.documents())]).toEqual([['call-1', odd]]);
  });

  it.each([
    ['an unknown type of change', (body: string) => body.replaceAll('"call.changed"', '"call.moved"')],
    ['a change without its call', (body: string) => body.replaceAll('"call":', '"other":')],
    ['a cursor that does not move', (body: string) => body, true],
  ])('stops at %s, and leaves the copy unchanged', async (_name, change, isStuck = false) => {
    const copy = inPostgres();
    let first: string | undefined;
    system.proxy.reset((_exchange, index) => ({
      rewrite: (body) => {
        const { next_cursor: cursor } = JSON.parse(body) as { next_cursor: string };
        if (index === 0) first = cursor;
        if (index === 0) return body;
        return isStuck ? body.replace(cursor, first!) : change(body);
      },
    }));
    expect((await sync(copy, pagesOf(6))).error).toMatchObject({ type: 'ProtocolError' });
    expect(system.proxy.exchanges).toHaveLength(2);
    expect((await copy.documents()).size).toBe(6);
    expect((await copy.position()).cursor).toBe(first);
  });

  it('fails if another sync changes the same copy meanwhile', async () => {
    const copy = inPostgres();
    const other = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    system.proxy.reset(async (_exchange, index) => {
      if (index !== 2) return undefined;
      held.resolve();
      await other.promise;
      return undefined;
    });
    const slow = sync(copy, pagesOf(6));
    await held.promise;
    const { result } = await sync(copy, pagesOf(6));
    expect(result.full_resyncs).toBe(0);
    other.resolve();
    expect((await slow).error).toMatchObject({ type: 'ProtocolError', message: expect.stringMatching(/another sync/i) });
    await expectUpToDate(copy);
  });

  it.each(Object.entries(PROGRAMS))('continues a copy that the %s client began', async (_language, other) => {
    const copy = inPostgres();
    await act(other.runner, { action: 'sync', base_url: system.proxy.baseUrl, key: system.key, store: copy.address });
    await system.load([deletion('call-9'), call('call-8', { rating: 3 })]);
    expect((await sync(copy)).result).toEqual({ changed: 1, deleted: 1, full_resyncs: 0 });
    await expectUpToDate(copy);
  });

  it.each([
    ['SQLite', sqlite, inSqlite],
    ['PostgreSQL', postgres, inPostgres],
  ])('has a working example that syncs into %s', async (_name, example, create) => {
    const copy = create();
    const env = { CRS_API_KEY: system.key, CRS_BASE_URL: system.proxy.baseUrl };
    const output = await run([...example, copy.address.replace(/^sqlite:/, '')], '', env);
    expect(output).toMatch(/^23 calls stored, 0 removed$/m);
    expect(output).toMatch(/interview.*23.*287\.5/);
    await expectUpToDate(copy);
  });
});
