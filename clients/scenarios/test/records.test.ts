/** Checks how each client library sends records: in which requests, what it returns, and that faults neither lose nor repeat a record. */
import { randomUUID } from 'node:crypto';
import { createKey } from '@crs/testing/credentials';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { act, PROGRAMS, type Outcome } from '../src/programs.ts';
import type { Exchange, Fault } from '@crs/testing/fault-proxy';
import { LEAD, startClientWorld, type ClientWorld } from '../src/world.ts';

let system: ClientWorld;
let key: string;
beforeAll(async () => {
  system = await startClientWorld();
  key = await createKey(system.world.operator, 'acme', { rights: ['ingest', 'delete'] });
}, 120_000);
afterAll(() => system?.close());

const MIB = 1024 * 1024;
const unavailable: Fault = { status: 503, headers: { 'Retry-After': '1' } };

/** Differs between tests. */
let prefix = '';
let tests = 0;
/** A record of a call, with few properties so that thousands are fast. */
const record = (n: number, more: object = {}) => ({
  type: 'call',
  id: `${prefix}-${n}`,
  created_at: '2025-04-01T00:00:00Z',
  ...more,
});
const records = (count: number, more?: object) => Array.from({ length: count }, (_, n) => record(n, more));
/** The number of calls of an organization that the test has sent. */
async function sent(organization: string): Promise<number> {
  const rows = await system.world.database.query<{ count: number }>(
    'select count(*)::int as count from calls.calls where organization = $1 and starts_with(call_id, $2)',
    [organization, `${prefix}-`],
  );
  return rows[0]!.count;
}

describe.each(Object.entries(PROGRAMS))('%s', (_language, { runner }) => {
  /** Sends records. The proxy injects the faults into the first requests, one each. */
  async function send(list: object[], more: object = {}, faults: (Fault | undefined)[] = []) {
    system.proxy.reset((_exchange, index) => faults[index]);
    const action = { action: 'records', records: list, key, base_url: system.proxy.baseUrl, ...more };
    const outcome: Outcome & { exchanges: Exchange[] } = { ...(await act(runner, action)), exchanges: system.proxy.exchanges };
    return outcome;
  }
  const lines = ({ body }: Exchange) => body.split('\n').length - 1;
  const clean = { errors: [], refused: 0 };

  beforeEach(async () => {
    prefix = `sent-${tests++}`;
    // The other organization has a call with the same id.
    await system.load([{ ...record(0), organization: 'scarce' }]);
  });

  it('sends batches of 1,000 in order, and the same records again change nothing', { timeout: 120_000 }, async () => {
    const project = { type: 'project', id: randomUUID(), name: 'Sent', created_by: LEAD };
    const list = [project, ...records(2_300, { project_id: project.id })];
    const { result, exchanges } = await send(list);
    expect(result).toEqual({ lines: 2_301, accepted: 2_301, unchanged: 0, ...clean });
    expect(exchanges.map(lines)).toEqual([1_000, 1_000, 301]);
    const bodies = exchanges.map(({ body }) => body).join('');
    expect(
      bodies
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toEqual(list);
    expect(exchanges[0]!.headers['content-type']).toBe('application/x-ndjson');
    expect(await sent('acme')).toBe(2_300);
    expect(await sent('scarce')).toBe(1);
    const again = await send(list);
    expect(again.result).toEqual({ lines: 2_301, accepted: 0, unchanged: 2_301, ...clean });
    const deleted = await send(records(10, { created_at: undefined, deleted: true }));
    expect(deleted.result).toEqual({ lines: 10, accepted: 10, unchanged: 0, ...clean });
    expect(await sent('acme')).toBe(2_290);
    expect(await sent('scarce')).toBe(1);
  });

  it('sends at most 16 MiB at once, and nothing after a record over 8 MiB', { timeout: 120_000 }, async () => {
    const long = (n: number, size: number) => record(n, { transcript: 'é'.repeat(size / 2) });
    const { result, exchanges } = await send([long(0, 7 * MIB), long(1, 7 * MIB), long(2, 7 * MIB)]);
    expect(result).toEqual({ lines: 3, accepted: 3, unchanged: 0, ...clean });
    expect(exchanges.map(lines)).toEqual([2, 1]);
    const { error, exchanges: none } = await send([record(3), long(4, 8 * MIB)]);
    expect(error).toMatchObject({ type: 'BadRequestError', status: null, message: expect.stringContaining('line 2: ') });
    expect(none).toEqual([]);
  });

  it('returns refused records with their positions among all records', async () => {
    const list = records(1_500);
    list[1_200] = record(1200, { rating: 9 });
    list[3] = { type: 'unknown' } as never;
    const { result } = await send(list);
    expect(result).toMatchObject({ lines: 1_500, accepted: 1_498, unchanged: 0, refused: 2 });
    expect(result.errors).toEqual([
      { line: 4, field: 'type', reason: expect.any(String) },
      { line: 1_201, field: 'rating', reason: 'must be at most 5' },
    ]);
  });

  it('aborts a batch on a refusal, and stores nothing with check', async () => {
    const list = records(1_500);
    list[1_200] = record(1200, { rating: 9 });
    const { error, exchanges } = await send(list, { on_refusal: 'abort' });
    expect(exchanges.map(({ path }) => path)).toEqual(['/v1/records?on_refusal=abort', '/v1/records?on_refusal=abort']);
    expect(error).toMatchObject({ type: 'BadRequestError', status: 400 });
    expect(error!.details).toEqual([{ line: 1_201, field: 'rating', reason: 'must be at most 5' }]);
    expect(await sent('acme')).toBe(1_000);
    const checked = await send(records(1_010), { check: true });
    expect(checked.result).toEqual({ lines: 1_010, accepted: 10, unchanged: 1_000, ...clean });
    expect(await sent('acme')).toBe(1_000);
  });

  it('stores each record once although responses are lost and the API is unavailable', { timeout: 120_000 }, async () => {
    const faults: (Fault | undefined)[] = [
      { cut: 'before' },
      unavailable,
      undefined,
      { cut: 'inside' },
      { hang: 500 },
      { status: 502 },
    ];
    const { result, exchanges } = await send(records(2_500), { client: { timeout_seconds: 20 } }, faults);
    expect(result).toEqual({ lines: 2_500, accepted: 500, unchanged: 2_000, ...clean });
    expect(exchanges).toHaveLength(8);
    expect(await sent('acme')).toBe(2_500);
  });

  it('waits as a 429 says', async () => {
    const { result, exchanges } = await send(records(1), {}, [{ status: 429, headers: { 'Retry-After': '1' } }]);
    expect(result).toMatchObject({ accepted: 1 });
    expect(exchanges[1]!.at - exchanges[0]!.at).toBeGreaterThanOrEqual(1_000);
  });

  it('loses and repeats nothing if the gateway and the service are killed meanwhile', { timeout: 120_000 }, async () => {
    const { processes } = system.world;
    const restarts: Promise<void>[] = [];
    system.proxy.reset(async (_exchange, index) => {
      const service = ([undefined, 'api-gateway', 'calls'] as const)[index];
      if (service === undefined) return undefined;
      await processes.kill(service);
      restarts.push(processes.start(service));
      return undefined;
    });
    const { result } = await act(runner, { action: 'records', records: records(4_000), key, base_url: system.proxy.baseUrl });
    await Promise.all(restarts);
    expect(result).toMatchObject({ lines: 4_000, ...clean });
    expect(result.accepted + result.unchanged).toBe(4_000);
    expect(await sent('acme')).toBe(4_000);
    expect(await sent('scarce')).toBe(1);
  });
});
