import { beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { createChecker, type Document } from '@crs/testing/openapi';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import type { RestRequest } from '@crs/testing/rest';
import { buildDocument } from '../src/openapi/document.ts';
import { call, callPage } from '../src/schema/calls.ts';
import { changeList } from '../src/schema/changes.ts';
import { errorEnvelope } from '../src/schema/common.ts';
import { entityList } from '../src/schema/entities.ts';
import { billingOfficeList, project, projectList } from '../src/schema/projects.ts';
import { patchCallResult, putCallResult, recordsResult } from '../src/schema/records.ts';
import { LOOPBACK, newAddress, startGateway } from './_gateway.ts';

const PATH = '/v1/openapi.json';
const PROJECT = '11111111-2222-4333-8444-555555555555';
const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';

/** The response schemas, made strict so that an undocumented key fails. */
const BODIES: Record<string, z.ZodType> = {
  'get /calls': callPage,
  'get /calls/{call_id}': call,
  'get /changes': changeList,
  'get /billing-offices': billingOfficeList,
  'get /projects': projectList,
  'get /entities': entityList,
  'post /projects': project,
  'get /projects/{project_id}': project,
  'post /records': recordsResult,
  'put /calls/{call_id}': putCallResult,
  'patch /calls/{call_id}': patchCallResult,
};

const ORGANIZATIONS = {
  all: tenant('all'),
  anonymous: tenant('anonymous'),
  none: tenant('none'),
  scarce: tenant('scarce'),
};

let world: World;
let document: Document;
const keys: Record<string, string> = {};

beforeAll(async () => {
  world = await sharedWorld();
  const organization = { type: 'organization', rate_limit: { requests: 100_000, period_seconds: 60 } };
  const full = {
    type: 'call',
    created_at: '2025-03-01T00:00:00Z',
    date: '2025-03-01T10:00:00+01:00',
    duration_minutes: 54.5,
    call_status: 'done',
    anonymity_status: 'complete',
    rating: 4,
    cost: 120.5,
    segment: 'Customers',
    source: 'Network',
    expert: { name: 'Eva Muster', job_title: 'Buyer', organization: 'Initech', country: 'Germany', bio: 'Buys.' },
    participants: [{ name: 'Eva Muster', role: 'Expert', email: 'eva@initech.example' }, {}],
    summary: 'Good.',
    ktas: '- one',
    kta_approval_status: 'pending',
    qa_blocks: [{ question: 'Why?', answer: 'Because.', section: 'One' }, {}],
    transcript: [{ speaker: 'Eva Muster', start_seconds: 1.5, text: 'Hello' }, { text: 'Hello' }],
    redacted_transcript: 'Expert: Hello',
    language: 'en',
  };
  await world.load([
    { ...organization, id: ORGANIZATIONS.all, name: 'All', write_surface: true, allowed_fields: ALLOWED_FIELDS },
    { ...organization, id: ORGANIZATIONS.anonymous, name: 'Anonymous', write_surface: true, anonymize_interviewees: true },
    { ...organization, id: ORGANIZATIONS.none, name: 'None', allowed_fields: [] },
    { ...organization, id: ORGANIZATIONS.scarce, name: 'Scarce', rate_limit: { requests: 1, period_seconds: 3600 } },
    ...[ORGANIZATIONS.all, ORGANIZATIONS.anonymous, ORGANIZATIONS.none].flatMap((id) => [
      { ...full, organization: id, id: 'full' },
      { type: 'call', organization: id, id: 'empty', created_at: '2025-02-01T00:00:00Z' },
      { type: 'user', organization: id, email: 'ann@acme.example', name: 'Ann' },
      { type: 'billing_office', organization: id, name: 'London', is_default: true },
      { type: 'project', organization: id, id: PROJECT, created_at: '2025-01-01T00:00:00Z' },
      { type: 'entity', organization: id, id: PROJECT, project_id: PROJECT, description: 'Made of parts.' },
    ]),
  ]);
  for (const [name, id] of Object.entries(ORGANIZATIONS)) keys[name] = await world.createKey(id);
  keys['sender'] = await world.createKey(ORGANIZATIONS.all, { rights: ['ingest', 'delete'] });
  keys['reader'] = await world.createKey(ORGANIZATIONS.all, { rights: ['read'] });
  document = (await world.rest(PATH)).json as Document;
});

describe('a response matches the document:', () => {
  const json = { 'content-type': 'application/json' };
  const NEW = JSON.stringify({ name: 'New', lead_email: 'ann@acme.example' });
  const post = (body: string, headers: object = json): RestRequest => ({ method: 'POST', body, headers: { ...headers } });
  const put = (body: string): RestRequest => ({ ...post(body), method: 'PUT' });
  const patch = (body: string): RestRequest => ({ ...post(body), method: 'PATCH' });
  const ndjson = { 'content-type': 'application/x-ndjson' };
  const DELETE = { method: 'DELETE' };

  it.each<[string, string, string, string, number, RestRequest]>([
    ...['all', 'anonymous', 'none'].flatMap((key): [string, string, string, string, number, RestRequest][] => [
      [key, 'get', '/calls', `/calls?${RANGE}`, 200, {}],
      [key, 'get', '/calls', `/calls?${RANGE}&expand=detail`, 200, {}],
      [key, 'get', '/changes', '/changes', 200, {}],
      [key, 'get', '/changes', '/changes?expand=detail', 200, {}],
      [key, 'get', '/changes', '/changes?types=call,entity&expand=detail', 200, {}],
      [key, 'get', '/entities', '/entities', 200, {}],
      [key, 'get', '/calls/{call_id}', '/calls/full', 200, {}],
      [key, 'get', '/calls/{call_id}', '/calls/empty', 200, {}],
      [key, 'get', '/calls/{call_id}', '/calls/unknown', 404, {}],
    ]),
    ['all', 'get', '/calls', `/calls?${RANGE}&page=9`, 200, {}],
    ['all', 'get', '/calls', `/calls?${RANGE}`, 304, { headers: { 'if-none-match': '*' } }],
    ['all', 'get', '/calls', '/calls', 400, {}],
    ['nobody', 'get', '/calls', '/calls', 401, {}],
    ['all', 'get', '/calls', '/calls', 406, { headers: { accept: 'text/html' } }],
    ['scarce', 'get', '/calls', `/calls?${RANGE}`, 200, {}],
    ['scarce', 'get', '/calls', `/calls?${RANGE}`, 429, {}],
    ['all', 'get', '/calls/{call_id}', '/calls/full?include_clean=1', 400, {}],
    ['all', 'get', '/changes', '/changes?cursor=forged', 400, {}],
    ['nobody', 'get', '/changes', '/changes', 401, {}],
    ['all', 'get', '/changes', '/changes?types=call,project,entity&expand=detail', 200, {}],
    ['none', 'get', '/changes', '/changes?types=project', 404, {}],
    ['all', 'get', '/projects', '/projects', 200, {}],
    ['all', 'get', '/projects', '/projects?cursor=forged', 400, {}],
    ['none', 'get', '/projects', '/projects', 404, {}],
    ['all', 'get', '/entities', '/entities', 304, { headers: { 'if-none-match': '*' } }],
    ['all', 'get', '/entities', '/entities?limit=0', 400, {}],
    ['sender', 'get', '/entities', '/entities', 404, {}],
    ['all', 'get', '/billing-offices', '/billing-offices', 200, {}],
    ['all', 'get', '/billing-offices', '/billing-offices?page=1', 400, {}],
    ['none', 'get', '/billing-offices', '/billing-offices', 404, {}],
    ['all', 'post', '/projects', '/projects', 201, post(NEW)],
    ['all', 'post', '/projects', '/projects', 201, post(NEW, { ...json, 'idempotency-key': 'one' })],
    ['all', 'post', '/projects', '/projects', 201, post(NEW, { ...json, 'idempotency-key': 'one' })],
    ['all', 'post', '/projects', '/projects', 422, post(NEW.replace('New', 'Other'), { ...json, 'idempotency-key': 'one' })],
    ['all', 'post', '/projects', '/projects', 400, post('{}')],
    ['reader', 'post', '/projects', '/projects', 404, post(NEW)],
    ['all', 'post', '/projects', '/projects', 413, post(NEW.padEnd(64 * 1024 + 1, ' '))],
    ['all', 'post', '/projects', '/projects', 415, post(NEW, { 'content-type': 'text/plain' })],
    ['all', 'get', '/projects/{project_id}', `/projects/${PROJECT}`, 200, {}],
    ['all', 'get', '/projects/{project_id}', '/projects/nonsense', 400, {}],
    ['all', 'get', '/projects/{project_id}', `/projects/${PROJECT.replace('1', '2')}`, 404, {}],
    ['sender', 'post', '/records', '/records', 200, post('{"type":"call","id":"sent"}\n{}', ndjson)],
    ['sender', 'post', '/records', '/records?on_refusal=abort', 400, post('{"type":"call"}', ndjson)],
    ['sender', 'post', '/records', '/records', 413, post('\n'.repeat(16 * 1024 * 1024 + 1), ndjson)],
    ['sender', 'post', '/records', '/records', 415, post('{}')],
    ['reader', 'post', '/records', '/records', 404, post('{}', ndjson)],
    ['sender', 'put', '/calls/{call_id}', '/calls/new', 201, put('{}')],
    ['sender', 'put', '/calls/{call_id}', '/calls/new', 200, put('{"rating":1}')],
    ['sender', 'put', '/calls/{call_id}', '/calls/a%20b', 400, put('{}')],
    ['reader', 'put', '/calls/{call_id}', '/calls/new', 404, put('{}')],
    ['sender', 'patch', '/calls/{call_id}', '/calls/new', 200, patch('{"rating":2}')],
    ['sender', 'patch', '/calls/{call_id}', '/calls/unknown', 404, patch('{}')],
    ['sender', 'delete', '/calls/{call_id}', '/calls/new', 204, DELETE],
    ['sender', 'delete', '/calls/{call_id}', '/calls/new', 404, DELETE],
    ['nobody', 'get', '/openapi.json', '/openapi.json', 200, {}],
    ['nobody', 'get', '/openapi.json', '/openapi.json', 304, { headers: { 'if-none-match': '*' } }],
    ['nobody', 'get', '/openapi.json', '/openapi.json?x=1', 400, {}],
  ])('key "%s": %s %s: %s %i', async (who, method, template, path, status, request) => {
    const answer = await world.rest(`/v1${path}`, { key: keys[who], ...request });
    expect(answer.status).toBe(status);
    expect(createChecker(document).problemsOfResponse(method, template, answer)).toEqual([]);
    // Parsing must not drop keys: the response has none that the document doesn't declare.
    if (status >= 400) errorEnvelope.parse(answer.json);
    else if (status < 300) BODIES[`${method} ${template}`]?.parse(answer.json);
  });
});

describe(PATH, () => {
  it('contains the configured public URL, whatever the Host', async () => {
    const gateway = await startGateway(world, { publicUrl: 'https://api.acme.example' });
    const { json } = await gateway.rest(PATH, { headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' } });
    expect((json as Document).servers).toEqual([{ url: 'https://api.acme.example/v1', description: 'Version 1' }]);
    await gateway.stop();
    expect(document).toEqual(JSON.parse(JSON.stringify(buildDocument(`http://${world.stack.addresses.api}`))));
  });

  it('needs no key, and ignores an invalid one', async () => {
    for (const key of [undefined, 'crk_nonsense', keys['all']]) expect((await world.rest(PATH, { key })).status).toBe(200);
  });

  it('is the only path under /v1 that needs no key', async () => {
    for (const path of ['/v1', '/v1/', '/v1/openapi', '/v1/openapi.json/', '/v1/OPENAPI.JSON', '/v1/docs', '/v1/calls'])
      expect((await world.rest(path)).status, path).toBe(401);
  });

  it('serves only GET and HEAD', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const { status, headers } = await world.rest(PATH, { method, headers: { accept: 'text/html' } });
      expect([status, headers.get('allow')], method).toEqual([405, 'GET, HEAD']);
    }
    const { status, headers, text } = await world.rest(PATH, { method: 'HEAD' });
    expect([status, text]).toEqual([200, '']);
    expect(Number(headers.get('content-length'))).toBe(Buffer.byteLength((await world.rest(PATH)).text));
  });

  it('is served as JSON only', async () => {
    expect((await world.rest(PATH, { headers: { accept: 'text/html' } })).status).toBe(406);
    expect((await world.rest(PATH)).headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('supports conditional requests with an entity tag', async () => {
    const tag = (await world.rest(PATH)).headers.get('etag')!;
    for (const method of ['GET', 'HEAD']) {
      const { status, text } = await world.rest(PATH, { method, headers: { 'if-none-match': `W/${tag}` } });
      expect([status, text]).toEqual([304, '']);
    }
  });

  it('is charged to the address, or with a valid key to its organization', async () => {
    const gateway = await startGateway(world, { addressLimit: { requests: 2, periodSeconds: 3600 }, trustedProxies: LOOPBACK });
    const headers = { 'x-forwarded-for': newAddress() };
    const statusFor = async (key?: string) => (await gateway.rest(PATH, { key, headers })).status;
    expect([await statusFor(), await statusFor(), await statusFor(), await statusFor(keys['all'])]).toEqual([200, 200, 429, 200]);
    await gateway.stop();
  });
});
