/** Checks how each client library handles single requests: what it returns and what it sends, also if the service or the connection fails. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { act, PROGRAMS, type Outcome } from '../src/programs.ts';
import type { Exchange, Fault } from '@crs/testing/fault-proxy';
import { call, LEAD, RANGE, startClientWorld, type ClientWorld } from '../src/world.ts';

let system: ClientWorld;
beforeAll(async () => {
  system = await startClientWorld();
}, 120_000);
afterAll(() => system?.close());

const unavailable: Fault = { status: 503, headers: { 'Retry-After': '1', 'X-Request-Id': 'a'.repeat(32) } };
const envelope = (code: string, message: string) => JSON.stringify({ error: { code, message, request_id: 'b'.repeat(32) } });
const PROJECT = { name: 'Boxes', lead_email: LEAD };

describe.each(Object.entries(PROGRAMS))('%s', (_language, { runner }) => {
  /** Runs an action in the client. The proxy injects the faults into the first requests, one each, and passes later ones unchanged. */
  async function attempt(action: object, faults: (Fault | undefined)[] = []): Promise<Outcome & { exchanges: Exchange[] }> {
    system.proxy.reset((_exchange, index) => faults[index]);
    const outcome = await act(runner, { base_url: system.proxy.baseUrl, key: system.key, ...action });
    return { ...outcome, exchanges: system.proxy.exchanges };
  }
  const getCall = (id: string, more: object = {}) => ({ action: 'get_call', call_id: id, ...more });
  const read = async (path: string) => JSON.parse(await system.ask(path)) as { data: { call_id: string }[] };

  it('reads all pages of a list', async () => {
    const { result, exchanges } = await attempt({ action: 'calls', query: { ...RANGE, per_page: 7 } });
    expect(result).toEqual((await read(`/calls?${new URLSearchParams({ ...RANGE, per_page: '200' }).toString()}`)).data);
    expect(exchanges.map(({ path }) => new URL(path, 'http://x').searchParams.get('page'))).toEqual(['1', '2', '3', '4']);
  });

  it('requests large pages by default', async () => {
    const { result, exchanges } = await attempt({ action: 'calls', query: RANGE });
    expect(result).toHaveLength(23);
    expect(exchanges).toHaveLength(1);
  });

  it('reads billing offices, and creates and reads a project', async () => {
    const offices = await attempt({ action: 'billing_offices' });
    expect(offices.result).toEqual([
      { name: 'London', is_default: true },
      { name: 'Berlin', is_default: false },
    ]);
    const created = await attempt({ action: 'create_project', project: PROJECT });
    const { result } = await attempt({ action: 'get_project', project_id: created.result.project_id });
    expect(result).toEqual(created.result);
    expect(result).toMatchObject({ name: 'Boxes', billing_office_name: 'London' });
  });

  it('returns a call from its cache after a 304', async () => {
    system.proxy.reset(async (_exchange, index) => {
      if (index === 2) await system.load([call('call-1', { summary: `Now ${performance.now()}` })]);
      return undefined;
    });
    const { result } = await act(runner, { base_url: system.proxy.baseUrl, key: system.key, ...getCall('call-1', { times: 4 }) });
    expect(system.proxy.exchanges.map(({ status }) => status)).toEqual([200, 304, 200, 304]);
    expect(result[1]).toEqual(result[0]);
    expect(result[2].summary).not.toBe(result[1].summary);
    expect(result[3]).toEqual(JSON.parse(await system.ask('/calls/call-1')));
  });

  it('caches a call separately for each set of query flags', async () => {
    const { result, exchanges } = await attempt(getCall('call-1', { query: { include_verbatim: false } }));
    expect(result[0].transcripts.map(({ kind }: { kind: string }) => kind)).not.toContain('verbatim');
    expect(exchanges[0]!.path).toContain('include_verbatim=false');
  });

  it('waits for the time in Retry-After before it retries', async () => {
    const { result, exchanges } = await attempt(getCall('call-2'), [unavailable]);
    expect(result[0].call_id).toBe('call-2');
    expect(exchanges[1]!.at - exchanges[0]!.at).toBeGreaterThanOrEqual(1_000);
    expect(exchanges[1]!.at - exchanges[0]!.at).toBeLessThan(10_000);
  });

  it('waits until X-RateLimit-Reset, measured by the Date header of the response', async () => {
    const date = new Date('2030-01-01T00:00:00Z');
    const headers = { Date: date.toUTCString(), 'X-RateLimit-Reset': String(date.getTime() / 1_000 + 1) };
    const { result, exchanges } = await attempt(getCall('call-2'), [{ status: 429, headers }]);
    expect(result[0].call_id).toBe('call-2');
    expect(exchanges[1]!.at - exchanges[0]!.at).toBeGreaterThanOrEqual(1_000);
  });

  it('reads a whole list despite a real rate limit', async () => {
    const { result, exchanges } = await attempt({ action: 'calls', query: { ...RANGE, per_page: 1 }, key: system.scarceKey });
    expect(result).toHaveLength(8);
    expect(exchanges.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    expect(exchanges.filter(({ status }) => status === 429).length).toBeLessThan(3);
  });

  it('delays all concurrent requests after one 429', async () => {
    const ids = Array.from({ length: 6 }, (_, n) => `call-${n}`);
    // By themselves, the requests that get 503 would be retried within half a second.
    const { result, exchanges } = await attempt({ action: 'get_calls', call_ids: ids }, [
      { status: 429, headers: { 'Retry-After': '1' } },
      ...Array.from({ length: 5 }, () => ({ status: 503 })),
    ]);
    expect(result.map(({ call_id: id }: { call_id: string }) => id)).toEqual(ids);
    const [refused, ...others] = exchanges;
    expect(Math.min(...others.slice(5).map(({ at }) => at)) - refused!.at).toBeGreaterThanOrEqual(1_000);
  });

  it('fails at once if Retry-After is longer than it may wait', async () => {
    const tooLong: Fault = { status: 429, headers: { 'Retry-After': '200' }, body: envelope('rate_limited', 'Wait.') };
    const { error, exchanges } = await attempt(getCall('call-2'), [tooLong]);
    expect(error).toMatchObject({
      type: 'RateLimitedError',
      code: 'rate_limited',
      status: 429,
      message: 'Wait.',
      retry_after: 200,
    });
    expect(exchanges).toHaveLength(1);
  });

  it('fails at once if the wait would exceed its retry budget', async () => {
    const { error, exchanges } = await attempt(getCall('call-2', { client: { budget_seconds: 0.9 } }), [unavailable]);
    expect(error).toMatchObject({ type: 'ServerError', status: 503, retry_after: 1 });
    expect(exchanges).toHaveLength(1);
  });

  it.each(['before', 'inside'] as const)('retries a request whose connection is cut %s the response', async (cut) => {
    const { result, exchanges } = await attempt(getCall('call-3'), [{ cut }]);
    expect(result[0].call_id).toBe('call-3');
    expect(exchanges).toHaveLength(2);
  });

  it('retries a request that times out', async () => {
    const action = getCall('call-3', { client: { timeout_seconds: 0.5 } });
    const { result, exchanges } = await attempt(action, [{ hang: 3_000 }]);
    expect(result[0].call_id).toBe('call-3');
    expect(exchanges).toHaveLength(2);
  });

  it('gives up after max_retries, with the request ids of all attempts in the error', async () => {
    const faults = ['c', 'd', 'e'].map((digit) => ({ status: 500, headers: { 'X-Request-Id': digit.repeat(32) } }));
    const { error, exchanges } = await attempt(getCall('call-3', { client: { max_retries: 1 } }), faults);
    expect(error).toMatchObject({ type: 'ServerError', code: 'internal_error', status: 500 });
    expect(error!.request_ids).toEqual(['c'.repeat(32), 'd'.repeat(32)]);
    expect(exchanges).toHaveLength(2);
  });

  it('throws a ConnectionError if no attempt gets a complete response', async () => {
    const { error } = await attempt(getCall('call-3', { client: { max_retries: 1 } }), [{ cut: 'before' }, { cut: 'inside' }]);
    expect(error).toMatchObject({ type: 'ConnectionError', code: null, status: null });
  });

  it('retries after the HTML error page of a proxy, and reports it as a ServerError', async () => {
    const page = { status: 502, headers: { 'Content-Type': 'text/html' }, body: '<h1>Bad gateway</h1>' };
    const retried = await attempt(getCall('call-3'), [page]);
    expect(retried.result[0].call_id).toBe('call-3');
    const { error } = await attempt(getCall('call-3', { client: { max_retries: 0 } }), [page]);
    expect(error).toMatchObject({ type: 'ServerError', status: 502 });
  });

  it('does not retry a 409 on the first attempt', async () => {
    const conflict: Fault = { status: 409, headers: { 'Retry-After': '1' }, body: envelope('bad_request', 'In flight.') };
    const { error, exchanges } = await attempt({ action: 'create_project', project: PROJECT }, [conflict]);
    expect(error).toMatchObject({
      type: 'BadRequestError',
      code: 'bad_request',
      status: 409,
      message: 'In flight.',
      retry_after: 1,
    });
    expect(exchanges).toHaveLength(1);
  });

  it('retries a 409 that its own interrupted attempt has caused', async () => {
    const conflict: Fault = { status: 409, headers: { 'Retry-After': '1' }, body: envelope('bad_request', 'In flight.') };
    const { result, exchanges } = await attempt({ action: 'create_project', project: PROJECT }, [{ cut: 'before' }, conflict]);
    expect(result.name).toBe('Boxes');
    expect(exchanges.map(({ status }) => status)).toEqual([undefined, 409, 201]);
    expect(exchanges[2]!.at - exchanges[1]!.at).toBeGreaterThanOrEqual(1_000);
  });

  it('does not retry a 409 that a legal hold causes, which does not say when to retry', async () => {
    const held: Fault = { status: 409, body: envelope('bad_request', 'The legal hold keeps the call.') };
    const { error, exchanges } = await attempt({ action: 'create_project', project: PROJECT }, [{ cut: 'before' }, held]);
    expect(error).toMatchObject({ type: 'BadRequestError', status: 409, retry_after: null });
    expect(exchanges.map(({ status }) => status)).toEqual([undefined, 409]);
  });

  it('throws the error class for the code that the API returns', async () => {
    const { error: missing, exchanges } = await attempt(getCall('nothing'));
    expect(missing).toMatchObject({ type: 'NotFoundError', code: 'not_found', status: 404 });
    expect(missing!.request_ids).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(exchanges).toHaveLength(1);
    const { error: wrong } = await attempt({ action: 'calls', query: { ...RANGE, per_page: 0 } });
    expect(wrong).toMatchObject({ type: 'BadRequestError', code: 'bad_request', message: expect.stringContaining('per_page') });
    const { error: unauthorized } = await attempt({ ...getCall('call-3'), key: 'crk_nonsense' });
    expect(unauthorized).toMatchObject({ type: 'UnauthorizedError', code: 'unauthorized', status: 401 });
  });

  it('throws a ProtocolError for a response that is not JSON', async () => {
    const { error } = await attempt(getCall('call-3'), [{ rewrite: () => 'Hello' }]);
    expect(error).toMatchObject({ type: 'ProtocolError', status: 200 });
  });

  it('creates a project only once if the response is lost and the request is retried', async () => {
    const name = `Boxes ${performance.now()}`;
    const { result, exchanges } = await attempt({ action: 'create_project', project: { ...PROJECT, name } }, [
      { cut: 'inside' },
      unavailable,
    ]);
    expect(exchanges.map(({ status }) => status)).toEqual([201, 503, 201]);
    const keys = exchanges.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(1);
    expect(exchanges.every(({ body }) => body === exchanges[0]!.body)).toBe(true);
    const rows = await system.world.database.query('select project_id from projects.projects where name = $1', [name]);
    expect(rows).toEqual([{ project_id: result.project_id }]);
    const next = await attempt({ action: 'create_project', project: PROJECT });
    expect(next.exchanges[0]!.headers['idempotency-key']).not.toBe(keys[0]);
    const named = await attempt({ action: 'create_project', project: PROJECT, idempotency_key: keys[0] });
    expect(named.error).toMatchObject({ type: 'BadRequestError', status: 422 });
  });

  it('reads a whole list although the gateway is killed and restarted meanwhile', { timeout: 60_000 }, async () => {
    const { processes } = system.world;
    let restart: Promise<void> | undefined;
    system.proxy.reset(async (_exchange, index) => {
      if (index !== 2) return undefined;
      await processes.kill('api-gateway');
      restart = processes.start('api-gateway');
      return undefined;
    });
    const action = { action: 'calls', query: { ...RANGE, per_page: 5 } };
    const { result } = await act(runner, { base_url: system.proxy.baseUrl, key: system.key, ...action });
    await restart;
    expect(result).toHaveLength(23);
    expect(system.proxy.exchanges.filter(({ status }) => status === undefined).length).toBeGreaterThan(0);
  });
});
