import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RestRequest } from '@crs/testing/rest';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { startGateway, type Gateway } from './_gateway.ts';

/** The rows of "Every error" in the guide. */
interface Row {
  status: number;
  code: string;
  message: string;
}

const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
const ID = '00000000-0000-4000-8000-00000000000a';
const JSON_TYPE = { 'content-type': 'application/json' };
const NDJSON = { 'content-type': 'application/x-ndjson' };
const PROJECT = { name: 'Boxes', lead_email: 'ann@acme.example' };

const ORGANIZATIONS = { acme: tenant('acme'), globex: tenant('globex'), small: tenant('small'), closed: tenant('closed') };

let world: World;
let rows: Row[];
const keys: Record<string, string> = {};
/** A gateway whose address of the calls service refuses connections. */
let withoutCalls: Gateway;

beforeAll(async () => {
  rows = rowsOf(await readFile(new URL('../src/docs/reference.md', import.meta.url), 'utf8'));
  world = await sharedWorld();
  for (const [name, id] of Object.entries(ORGANIZATIONS)) {
    const rate_limit = { requests: name === 'small' ? 1 : 100_000, period_seconds: 60 };
    await world.load([
      { type: 'organization', id, name, write_surface: name !== 'closed', rate_limit, delete_limit: 1 },
      { type: 'user', organization: id, email: 'ann@acme.example', name: 'Ann' },
    ]);
    keys[name] = await world.createKey(id);
  }
  keys['reading'] = await world.createKey(ORGANIZATIONS.acme, { rights: ['read'] });
  keys['sender'] = await world.createKey(ORGANIZATIONS.acme, { rights: ['ingest', 'delete'] });
  keys['limited'] = await world.createKey(ORGANIZATIONS.globex, { rights: ['delete'] });
  keys['elsewhere'] = await world.createKey(ORGANIZATIONS.acme, { networks: ['203.0.113.0/24'] });
  withoutCalls = await startGateway(world, { callsAddress: '127.0.0.1:1', readTimeoutMs: 1_000 });
  await world.rest('/v1/calls', { key: keys['small'] });
  const { acme } = ORGANIZATIONS;
  await world.load([
    { type: 'project', organization: acme, id: ID },
    { type: 'call', organization: acme, id: 'held', project_id: ID },
  ]);
  const hold = { label: 'SEC', projectId: ID, callIds: [] };
  await world.operator.calls.createHold(hold, await world.operator.operator(acme));
  await world.rest('/v1/calls/call_1', { method: 'DELETE', key: keys['limited'] });
});
afterAll(() => withoutCalls?.stop());

function rowsOf(guide: string): Row[] {
  const table = guide.slice(guide.indexOf('## Every error'), guide.indexOf('## Plan a first copy'));
  return [...table.matchAll(/^\| (\d{3}) +\| `(\w+)` +\| `([^`]+)`/gm)].map(([, status, code, message]) => {
    return { status: Number(status), code: code!, message: message! };
  });
}

/** Whether a message matches a row of the guide, in which `…` stands for any text. */
function fits(row: Row, message: string): boolean {
  const parts = row.message.split('…');
  let at = 0;
  for (const [i, part] of parts.entries()) {
    const found = message.indexOf(part, at);
    if (found === -1 || (i === 0 && found > 0)) return false;
    at = found + part.length;
  }
  return message.endsWith(parts.at(-1)!);
}

const post = (body: unknown, more: RestRequest = {}): RestRequest => {
  const headers = { ...JSON_TYPE, ...more.headers };
  return { method: 'POST', key: keys['acme'], body: typeof body === 'string' ? body : JSON.stringify(body), ...more, headers };
};

/** Requests that get an error, by what is wrong with them. */
const REQUESTS: Record<string, [path: string, request: () => RestRequest]> = {
  'a missing parameter': ['/v1/calls', () => ({ key: keys['acme'] })],
  'a bad parameter': [`/v1/calls?${RANGE}&page=0`, () => ({ key: keys['acme'] })],
  'a parameter given twice': [`/v1/calls?${RANGE}&page=1&page=1`, () => ({ key: keys['acme'] })],
  'an unknown parameter': [`/v1/calls?${RANGE}&limit=1`, () => ({ key: keys['acme'] })],
  'a missing property': ['/v1/projects', () => post({})],
  'a bad property': ['/v1/projects', () => post({ ...PROJECT, name: 7 })],
  'an unknown user': ['/v1/projects', () => post({ ...PROJECT, lead_email: 'nobody@acme.example' })],
  'an unknown office': ['/v1/projects', () => post({ ...PROJECT, billing_office_name: 'Nowhere' })],
  'an unknown property': ['/v1/projects', () => post({ ...PROJECT, lead: 1 })],
  'malformed JSON': ['/v1/projects', () => post('{')],
  'a bad Idempotency-Key': ['/v1/projects', () => post(PROJECT, { headers: { 'idempotency-key': '' } })],
  'a missing key': ['/v1/calls', () => ({})],
  'an unknown path': ['/v1/nothing', () => ({ key: keys['acme'] })],
  'an unknown call': ['/v1/calls/unknown', () => ({ key: keys['acme'] })],
  'an unknown project': ['/v1/projects/00000000-0000-4000-8000-00000000000b', () => ({ key: keys['acme'] })],
  'a write surface that is switched off': ['/v1/billing-offices', () => ({ key: keys['closed'] })],
  'a read-only key': ['/v1/projects', () => post(PROJECT, { key: keys['reading'] })],
  'a key outside its networks': ['/v1/calls', () => ({ key: keys['elsewhere'] })],
  'a wrong method': ['/v1/calls', () => ({ key: keys['acme'], method: 'DELETE' })],
  'an unacceptable Accept header': [`/v1/calls?${RANGE}`, () => ({ key: keys['acme'], headers: { accept: 'text/html' } })],
  'the documentation page as JSON': ['/docs', () => ({ headers: { accept: 'application/json' } })],
  'a large body': ['/v1/projects', () => post(`"${'x'.repeat(1_100_000)}"`)],
  'a body of type text/plain': ['/v1/projects', () => post(PROJECT, { headers: { 'content-type': 'text/plain' } })],
  'a compressed body': ['/v1/projects', () => post(PROJECT, { headers: { 'content-encoding': 'gzip' } })],
  'a property that the path determines': [
    '/v1/calls/call_1',
    () => post({ id: 'call_1' }, { method: 'PUT', key: keys['sender'] }),
  ],
  'the deletion of a held call': ['/v1/calls/held', () => ({ method: 'DELETE', key: keys['sender'] })],
  'a held call that leaves its project': ['/v1/calls/held', () => post({}, { method: 'PUT', key: keys['sender'] })],
  'a refused line': ['/v1/records?on_refusal=abort', () => post('[]', { key: keys['sender'], headers: NDJSON })],
  'a body of records of type application/json': ['/v1/records', () => post({}, { key: keys['sender'] })],
  'used-up deletions': ['/v1/calls/call_1', () => ({ method: 'DELETE', key: keys['limited'] })],
  'a used-up rate limit': ['/v1/calls', () => ({ key: keys['small'] })],
};

/** Errors that only other tests provoke, because they need time, concurrent requests or a fault. */
const ELSEWHERE = [
  'The body did not arrive within … s.',
  'Idempotency-Key: a request with this key is being worked …',
  'An unexpected error occurred. …',
  'Too many requests are under way. …',
  'The request took too long. …',
];

const provoked = new Set<Row>();
function expectListed(answer: { status: number; json: { error: { code: string; message: string } } }): void {
  const { code, message } = answer.json.error;
  const fitting = rows.filter((row) => row.status === answer.status && row.code === code && fits(row, message));
  expect(fitting, `${answer.status} ${code} ${message}`).not.toEqual([]);
  for (const row of fitting) provoked.add(row);
}

describe('the guide lists', () => {
  it.each(Object.entries(REQUESTS))('the error for %s', async (_, [path, request]) => {
    expectListed(await world.rest(path, request()));
  });

  it('the error while a backend service is unavailable', async () => {
    expectListed(await withoutCalls.rest(`/v1/calls?${RANGE}`, { key: keys['acme'] }));
  });

  it('the error for an Idempotency-Key that was used with another body', async () => {
    const headers = { 'idempotency-key': 'one' };
    expect((await world.rest('/v1/projects', post(PROJECT, { headers }))).status).toBe(201);
    expectListed(await world.rest('/v1/projects', post({ ...PROJECT, name: 'Other' }, { headers })));
  });

  it('only errors that occur, every code, and every error status in the OpenAPI document', async () => {
    expect(rows.filter((row) => !provoked.has(row)).map(({ message }) => message)).toEqual(ELSEWHERE);
    expect([...new Set(rows.map(({ code }) => code))].toSorted()).toEqual([
      'bad_request',
      'internal_error',
      'not_found',
      'rate_limited',
      'unauthorized',
    ]);
    const { paths } = (await world.rest('/v1/openapi.json')).json as {
      paths: Record<string, Record<string, { responses: object }>>;
    };
    const documented = Object.values(paths).flatMap((path) =>
      Object.values(path).flatMap(({ responses }) => Object.keys(responses)),
    );
    const listed = new Set(rows.map(({ status }) => status));
    expect(documented.map(Number).filter((status) => status >= 400 && !listed.has(status))).toEqual([]);
  });
});
