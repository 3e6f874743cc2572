import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RestRequest } from '@crs/testing/rest';
import { startWorld, type OwnWorld } from '@crs/testing/world';
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
const PROJECT = { name: 'Boxes', lead_email: 'ann@acme.example' };

let world: OwnWorld;
let rows: Row[];
const keys: Record<string, string> = {};
const gateways: Record<string, Gateway> = {};

beforeAll(async () => {
  rows = rowsOf(await readFile(new URL('../src/docs/reference.md', import.meta.url), 'utf8'));
  world = await startWorld();
  for (const id of ['acme', 'small', 'closed']) {
    const rate_limit = { requests: id === 'small' ? 1 : 100_000, period_seconds: 60 };
    await world.load([{ type: 'organization', id, name: id, write_surface: id !== 'closed', rate_limit }]);
    keys[id] = await world.createKey(id);
  }
  await world.load([{ type: 'user', organization: 'acme', email: 'ann@acme.example', name: 'Ann' }]);
  keys['reading'] = await world.createKey('acme', { readOnly: true });
  gateways['usual'] = await startGateway(world, {});
  gateways['alone'] = await startGateway(world, { callsAddress: '127.0.0.1:1', readTimeoutMs: 1_000 });
  await gateways['usual'].rest('/v1/calls', { key: keys['small'] });
});
afterAll(async () => {
  for (const gateway of Object.values(gateways)) await gateway.stop();
  await world?.close();
});

function rowsOf(guide: string): Row[] {
  const table = guide.slice(guide.indexOf('## Every error'), guide.indexOf('## Plan a first copy'));
  return [...table.matchAll(/^\| (\d{3}) +\| `(\w+)` +\| `([^`]+)`/gm)].map(([, status, code, message]) => {
    return { status: Number(status), code: code!, message: message! };
  });
}

/** Whether a message is of a row, where `…` stands for any text. */
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

/** Requests with their refusals, by what is wrong. Those without a row here need a fault of a service. */
const REQUESTS: Record<string, [path: string, request: () => RestRequest, gateway?: string]> = {
  'a missing parameter': ['/v1/calls', () => ({ key: keys['acme'] })],
  'a bad parameter': [`/v1/calls?${RANGE}&page=0`, () => ({ key: keys['acme'] })],
  'a parameter given twice': [`/v1/calls?${RANGE}&page=1&page=1`, () => ({ key: keys['acme'] })],
  'an unknown parameter': [`/v1/calls?${RANGE}&limit=1`, () => ({ key: keys['acme'] })],
  'a missing property': ['/v1/projects', () => post({})],
  'a bad property': ['/v1/projects', () => post({ ...PROJECT, name: 7 })],
  'an unknown user': ['/v1/projects', () => post({ ...PROJECT, lead_email: 'nobody@acme.example' })],
  'an unknown office': ['/v1/projects', () => post({ ...PROJECT, billing_office_name: 'Nowhere' })],
  'an unknown property': ['/v1/projects', () => post({ ...PROJECT, lead: 1 })],
  'no JSON': ['/v1/projects', () => post('{')],
  'a bad Idempotency-Key': ['/v1/projects', () => post(PROJECT, { headers: { 'idempotency-key': '' } })],
  'no key': ['/v1/calls', () => ({})],
  'an unknown path': ['/v1/nothing', () => ({ key: keys['acme'] })],
  'an unknown call': ['/v1/calls/unknown', () => ({ key: keys['acme'] })],
  'an unknown project': [`/v1/projects/${ID}`, () => ({ key: keys['acme'] })],
  'no write surface': ['/v1/billing-offices', () => ({ key: keys['closed'] })],
  'a reading key': ['/v1/projects', () => post(PROJECT, { key: keys['reading'] })],
  'a wrong method': ['/v1/calls', () => ({ key: keys['acme'], method: 'DELETE' })],
  'a wrong type': [`/v1/calls?${RANGE}`, () => ({ key: keys['acme'], headers: { accept: 'text/html' } })],
  'a page as JSON': ['/docs', () => ({ headers: { accept: 'application/json' } })],
  'a large body': ['/v1/projects', () => post(`"${'x'.repeat(1_100_000)}"`)],
  'a body of text': ['/v1/projects', () => post(PROJECT, { headers: { 'content-type': 'text/plain' } })],
  'a compressed body': ['/v1/projects', () => post(PROJECT, { headers: { 'content-encoding': 'gzip' } })],
  'a limit that is used up': ['/v1/calls', () => ({ key: keys['small'] })],
  'a service that is away': [`/v1/calls?${RANGE}`, () => ({ key: keys['acme'] }), 'alone'],
};

/** Shown by other tests: they need time, two requests at once, or a fault. */
const ELSEWHERE = [
  'The body did not arrive within 5 s.',
  'Idempotency-Key: a request with this key is being worked …',
  'An unexpected error occurred. …',
  'Too many requests are under way. …',
  'The request took too long. …',
];

const met = new Set<Row>();
function meet(answer: { status: number; json: { error: { code: string; message: string } } }): void {
  const { code, message } = answer.json.error;
  const fitting = rows.filter((row) => row.status === answer.status && row.code === code && fits(row, message));
  expect(fitting, `${answer.status} ${code} ${message}`).not.toEqual([]);
  for (const row of fitting) met.add(row);
}

describe('the guide lists', () => {
  it.each(Object.entries(REQUESTS))('the refusal of %s', async (_, [path, request, gateway = 'usual']) => {
    meet(await gateways[gateway]!.rest(path, request()));
  });

  it('the refusal of a key that was used with another body', async () => {
    const headers = { 'idempotency-key': 'one' };
    expect((await gateways['usual']!.rest('/v1/projects', post(PROJECT, { headers }))).status).toBe(201);
    meet(await gateways['usual']!.rest('/v1/projects', post({ ...PROJECT, name: 'Other' }, { headers })));
  });

  it('no error that is never met, each code, and each status of the OpenAPI document', async () => {
    expect(rows.filter((row) => !met.has(row)).map(({ message }) => message)).toEqual(ELSEWHERE);
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
