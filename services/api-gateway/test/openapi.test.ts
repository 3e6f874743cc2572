import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { createChecker, type Document, type OperationObject } from '@crs/testing/openapi';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import type { RestRequest } from '@crs/testing/rest';
import { ROUTES } from '../src/routes/index.ts';
import { call, callPage } from '../src/schema/calls.ts';
import { changeList } from '../src/schema/changes.ts';
import { errorEnvelope } from '../src/schema/common.ts';
import { billingOfficeList, project } from '../src/schema/projects.ts';
import { startGateway } from './_gateway.ts';

const PATH = '/v1/openapi.json';
const PROJECT = '11111111-2222-4333-8444-555555555555';
const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';

/** Strict schemas of the answers: an unknown key fails. */
const BODIES: Record<string, z.ZodType> = {
  'get /calls': callPage,
  'get /calls/{call_id}': call,
  'get /changes': changeList,
  'get /billing-offices': billingOfficeList,
  'post /projects': project,
  'get /projects/{project_id}': project,
};

let world: OwnWorld;
let document: Document;
const keys: Record<string, string> = {};

beforeAll(async () => {
  world = await startWorld();
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
    { ...organization, id: 'all', name: 'All', write_surface: true, allowed_fields: ALLOWED_FIELDS },
    { ...organization, id: 'anonymous', name: 'Anonymous', write_surface: true, anonymize_interviewees: true },
    { ...organization, id: 'none', name: 'None', allowed_fields: [] },
    { ...organization, id: 'scarce', name: 'Scarce', rate_limit: { requests: 1, period_seconds: 3600 } },
    ...['all', 'anonymous', 'none'].flatMap((id) => [
      { ...full, organization: id, id: 'full' },
      { type: 'call', organization: id, id: 'empty', created_at: '2025-02-01T00:00:00Z' },
      { type: 'user', organization: id, email: 'ann@acme.example', name: 'Ann' },
      { type: 'billing_office', organization: id, name: 'London', is_default: true },
      { type: 'project', organization: id, id: PROJECT, created_at: '2025-01-01T00:00:00Z' },
    ]),
  ]);
  for (const id of ['all', 'anonymous', 'none', 'scarce']) keys[id] = await world.createKey(id);
  keys['reader'] = await world.createKey('all', { readOnly: true });
  document = (await world.rest(PATH)).json as Document;
});
afterAll(() => world?.close());

const operations = (): [string, OperationObject][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, OperationObject] => [`${method} ${path}`, operation]),
  );
const parametersOf = (path: string, place: string) =>
  Object.fromEntries(
    Object.values(document.paths[path]!)[0]!
      .parameters.filter((parameter) => parameter.in === place)
      .map(({ name, required, schema }) => [name, { required, ...schema }]),
  );

describe('the document', () => {
  it('lists the routes, each with its operation, and nothing else', () => {
    const routes = Object.entries(ROUTES).map(([path, { method }]) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    expect(operations().map(([name]) => name)).toEqual(routes);
    expect(routes.toSorted()).toEqual([
      'get /billing-offices',
      'get /calls',
      'get /calls/{call_id}',
      'get /changes',
      'get /openapi.json',
      'get /projects/{project_id}',
      'post /projects',
    ]);
  });

  it('is of version 1.0.0 of the API, in OpenAPI 3.1', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe('1.0.0');
  });

  it('names the configured public address, whatever the Host', async () => {
    const gateway = await startGateway(world, { publicUrl: 'https://api.acme.example' });
    const { json } = await gateway.rest(PATH, { headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' } });
    expect((json as Document).servers).toEqual([{ url: 'https://api.acme.example/v1', description: 'Version 1' }]);
    await gateway.stop();
    expect(document.servers[0]!.url).toBe(`http://${world.stack.addresses.api}/v1`);
  });

  it('has the parameters and limits of the code', () => {
    const expand = {
      expand: { required: false, type: 'string', enum: ['detail'] },
      include_verbatim: { required: false, type: 'boolean' },
      include_redacted: { required: false, type: 'boolean' },
      include_clean: { required: false, type: 'boolean' },
    };
    const instant = { type: 'string', format: 'date-time' };
    expect(parametersOf('/calls', 'query')).toEqual({
      start_date: { required: true, ...instant },
      end_date: { required: true, ...instant },
      updated_since: { required: false, ...instant },
      page: { required: false, type: 'integer', minimum: 1, maximum: 2_147_483_647, default: 1 },
      per_page: { required: false, type: 'integer', minimum: 1, maximum: 200 },
      ...expand,
    });
    expect(parametersOf('/changes', 'query')).toEqual({
      cursor: { required: false, type: 'string', maxLength: 1_000 },
      limit: { required: false, type: 'integer', minimum: 1, maximum: 1_000 },
      ...expand,
    });
    const flag = { required: false, type: 'boolean', default: true };
    expect(parametersOf('/calls/{call_id}', 'path')).toEqual({ call_id: { required: true, type: 'string' } });
    expect(parametersOf('/calls/{call_id}', 'query')).toEqual({
      include_verbatim: flag,
      include_redacted: flag,
      include_clean: flag,
    });
    expect(parametersOf('/projects/{project_id}', 'path')).toEqual({
      project_id: { required: true, type: 'string', format: 'uuid' },
    });
    expect(parametersOf('/projects', 'header')).toEqual({
      'Idempotency-Key': { required: false, type: 'string', pattern: String.raw`^[\x20-\x7e]{1,255}$` },
    });
    expect(document.components.schemas['NewProject']).toMatchObject({
      required: ['name', 'lead_email'],
      additionalProperties: false,
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 200 },
        lead_email: { type: 'string', minLength: 3, maxLength: 254 },
        member_emails: { type: ['array', 'null'], maxItems: 100, items: { type: 'string', minLength: 3, maxLength: 254 } },
        billing_office_name: { type: ['string', 'null'] },
        summary: { type: ['string', 'null'], maxLength: 2_000 },
      },
    });
  });

  it('says which fields of a call can be absent', () => {
    const { properties, required } = document.components.schemas['Call'] as { properties: object; required: string[] };
    expect(Object.keys(properties).filter((name) => !required.includes(name))).toEqual([
      'segment',
      'source',
      'rating',
      'cost',
      'participants',
      'summary',
      'key_takeaways',
      'key_takeaways_status',
      'qa_blocks',
    ]);
    expect(document.components.schemas['Interviewee']).not.toHaveProperty('required');
  });

  it('tells kinds of changes apart by a constant of each', () => {
    const { schemas } = document.components as { schemas: Record<string, { oneOf?: { $ref: string }[]; properties?: object }> };
    expect(schemas['Change']!.oneOf).toEqual(
      ['CallChanged', 'CallDeleted', 'AccessChanged'].map((name) => ({ $ref: `#/components/schemas/${name}` })),
    );
    expect(schemas['CallChanged']!.properties).toMatchObject({ type: { type: 'string', const: 'call.changed' } });
    expect(schemas['AccessChanged']!.properties).toMatchObject({ call_id: { type: 'null' } });
  });

  it('describes every parameter and every property', () => {
    const lacking: string[] = [];
    const look = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [name, property] of Object.entries((value as { properties?: object }).properties ?? {})) {
        if (!('$ref' in property) && !('description' in property)) lacking.push(`${path}.${name}`);
        look(property, `${path}.${name}`);
      }
      look((value as { items?: unknown }).items, `${path}[]`);
    };
    for (const [name, schema] of Object.entries(document.components.schemas)) look(schema, name);
    for (const [name, { parameters }] of operations())
      lacking.push(...parameters.filter(({ description }) => !description).map((parameter) => `${name} ${parameter.name}`));
    expect(lacking).toEqual([]);
  });

  it('has examples that match its schemas', () => {
    const judging = createChecker(document);
    for (const [name, { parameters, requestBody, responses }] of operations()) {
      for (const { schema, example } of parameters.filter((parameter) => parameter.example !== undefined))
        expect(judging.problemsOf(schema, example), name).toEqual([]);
      const contents = [requestBody?.content, ...Object.values(responses).map((response) => judging.deref(response).content)];
      for (const content of contents.filter((it) => it !== undefined)) {
        const { schema, examples } = content['application/json'];
        expect(Object.keys(examples).length, name).toBeGreaterThan(0);
        for (const { value } of Object.values(examples)) expect(judging.problemsOf(schema, value), name).toEqual([]);
      }
    }
  });
});

describe('answers match the document', () => {
  const json = { 'content-type': 'application/json' };
  const NEW = JSON.stringify({ name: 'New', lead_email: 'ann@acme.example' });
  const post = (body: string, headers: object = json): RestRequest => ({ method: 'POST', body, headers: { ...headers } });

  it.each<[string, string, string, string, number, RestRequest]>([
    ...['all', 'anonymous', 'none'].flatMap((key): [string, string, string, string, number, RestRequest][] => [
      [key, 'get', '/calls', `/calls?${RANGE}`, 200, {}],
      [key, 'get', '/calls', `/calls?${RANGE}&expand=detail`, 200, {}],
      [key, 'get', '/changes', '/changes', 200, {}],
      [key, 'get', '/changes', '/changes?expand=detail', 200, {}],
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
    ['nobody', 'get', '/openapi.json', '/openapi.json', 200, {}],
    ['nobody', 'get', '/openapi.json', '/openapi.json', 304, { headers: { 'if-none-match': '*' } }],
    ['nobody', 'get', '/openapi.json', '/openapi.json?x=1', 400, {}],
  ])('%s: %s %s: %s %i', async (who, method, template, path, status, request) => {
    const answer = await world.rest(`/v1${path}`, { key: keys[who], ...request });
    expect(answer.status).toBe(status);
    expect(createChecker(document).problemsOfResponse(method, template, answer)).toEqual([]);
    // The answer has no key that the document doesn't declare.
    if (status >= 400) errorEnvelope.parse(answer.json);
    else if (status < 300) BODIES[`${method} ${template}`]?.parse(answer.json);
  });
});

describe(PATH, () => {
  it('needs no key, and ignores a bad one', async () => {
    for (const key of [undefined, 'crk_nonsense', keys['all']]) expect((await world.rest(PATH, { key })).status).toBe(200);
  });

  it('is the only path under /v1 that needs no key', async () => {
    for (const path of ['/v1', '/v1/', '/v1/openapi', '/v1/openapi.json/', '/v1/OPENAPI.JSON', '/v1/docs', '/v1/calls'])
      expect((await world.rest(path)).status, path).toBe(401);
  });

  it('answers only GET and HEAD', async () => {
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

  it('has an entity tag', async () => {
    const tag = (await world.rest(PATH)).headers.get('etag')!;
    for (const method of ['GET', 'HEAD']) {
      const { status, text } = await world.rest(PATH, { method, headers: { 'if-none-match': `W/${tag}` } });
      expect([status, text]).toEqual([304, '']);
    }
  });

  it('is charged to the address, or to the organization of a usable key', async () => {
    const gateway = await startGateway(world, { addressLimit: { requests: 2, periodSeconds: 3600 }, trustedProxies: [] });
    const ask = async (key?: string) => (await gateway.rest(PATH, { key })).status;
    expect([await ask(), await ask(), await ask(), await ask(keys['all'])]).toEqual([200, 200, 429, 200]);
    await gateway.stop();
  });
});
