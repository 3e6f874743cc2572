import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { parseNetworks } from '@crs/kit/http/address';
import { createApiKey } from '@crs/kit/api-key';
import { logProblems } from '@crs/testing/log-schema';
import type { RestResponse } from '@crs/testing/rest';
import { sendRaw } from '@crs/testing/send-raw';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { startGateway } from './_gateway.ts';

const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T01:00:00%2B01:00';
const ANN = 'ann@acme.example';
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let key: string;
let keyId: string;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization, write_surface: true },
      { type: 'user', organization, email: ANN, name: 'Ann' },
      ...Array.from({ length: 5 }, (_, n) => ({
        type: 'call',
        organization,
        id: `call_${n}`,
        conducted_by: ANN,
        created_at: `2025-02-0${n + 1}T00:00:00Z`,
      })),
    ]),
  );
  key = await world.createKey(ACME);
  const { apiKeys } = await world.operator.auth.listKeys({}, await world.operator.operator(ACME));
  keyId = apiKeys[0]!.keyId;
});

/** The access-log line of the request with this response, found by its trace id, without the fields that all lines have. */
function lineOf({ headers }: Pick<RestResponse, 'headers'>): Promise<Record<string, unknown>> {
  const id = headers.get('x-request-id');
  return vi.waitFor(() => {
    const lines = world.log.map((line) => JSON.parse(line)).filter(({ msg, trace_id }) => msg === 'request' && trace_id === id);
    expect(lines).toHaveLength(1);
    const {
      level: _level,
      severity: _severity,
      time: _time,
      service: _service,
      msg: _msg,
      trace_id: _trace,
      span_id: _span,
      ...fields
    } = lines[0];
    return fields;
  }, 10_000);
}

const get = async (path: string, more: object = {}) => lineOf(await world.rest(path, { key, ...more }));
const knownKey = () => ({ organization: ACME, key_id: keyId, client_address: '127.0.0.1' });

describe('the access-log line of a request records who read what:', () => {
  it('a call', async () => {
    const answer = await world.rest('/v1/calls/call_3?include_clean=false', { key });
    expect(await lineOf(answer)).toEqual({
      ...knownKey(),
      method: 'GET',
      route: '/v1/calls/{call_id}',
      operation: 'getCall',
      status: 200,
      seconds: expect.any(Number),
      bytes: answer.text.length,
      call_id: 'call_3',
      query: { include_verbatim: true, include_redacted: true, include_clean: false },
    });
  });

  it('a page of calls, with its query, its size, and its first and last id', async () => {
    expect(await get(`/v1/calls?${RANGE}&page=2&per_page=2`)).toMatchObject({
      ...knownKey(),
      route: '/v1/calls',
      operation: 'listCalls',
      status: 200,
      query: { start_date: '2025-01-01T00:00:00.000Z', end_date: '2026-01-01T00:00:00.000Z', page: 2, per_page: 2 },
      rows: 2,
      first_id: 'call_2',
      last_id: 'call_1',
    });
    const polled = await get(`/v1/calls?${RANGE}&updated_since=2030-01-01T00:00:00Z`);
    expect(polled).toMatchObject({ query: { updated_since: '2030-01-01T00:00:00.000Z', page: 1, per_page: 50 }, rows: 0 });
    expect(polled).not.toHaveProperty('first_id');
  });

  it('a project that was created or read, and billing offices', async () => {
    const body = JSON.stringify({ name: 'Secret plans', lead_email: ANN });
    const headers = { 'content-type': 'application/json' };
    const made = await world.rest('/v1/projects', { key, method: 'POST', headers, body });
    const { project_id } = made.json;
    expect(await lineOf(made)).toMatchObject({ ...knownKey(), operation: 'createProject', status: 201, project_id });
    expect(await get(`/v1/projects/${project_id.toUpperCase()}`)).toMatchObject({ operation: 'getProject', project_id });
    expect(await get('/v1/billing-offices')).toMatchObject({ operation: 'listBillingOffices', rows: 0 });
    const page = { query: { limit: 5 }, rows: 1, first_id: project_id, last_id: project_id };
    expect(await get('/v1/projects?limit=5')).toMatchObject({ operation: 'listProjects', ...page });
    expect(await get('/v1/entities')).toMatchObject({ operation: 'listEntities', query: { limit: 100 }, rows: 0 });
    const changes = await get('/v1/changes?types=project');
    expect(changes).toMatchObject({ operation: 'listChanges', ...page, query: { limit: 100, types: 'project' } });
  });

  it('a call without a body: 304 or HEAD', async () => {
    const { headers } = await world.rest('/v1/calls/call_3', { key });
    const again = { headers: { 'if-none-match': headers.get('etag')! } };
    expect(await get('/v1/calls/call_3', again)).toMatchObject({ status: 304, bytes: 0, call_id: 'call_3' });
    expect(await get('/v1/calls/call_3', { method: 'HEAD' })).toMatchObject({ status: 200, bytes: 0, call_id: 'call_3' });
  });
});

describe('the access-log line of a refusal', () => {
  it('has the reason, and the id of the requested record', async () => {
    expect(await get('/v1/calls/call_99')).toMatchObject({
      status: 404,
      code: 'not_found',
      reason: 'NOT_FOUND',
      call_id: 'call_99',
    });
    const over = await get(`/v1/calls?${RANGE}&per_page=201`);
    expect(over).toMatchObject({ ...knownKey(), status: 400, code: 'bad_request', reason: 'INVALID_ARGUMENT' });
    expect(over).not.toHaveProperty('query');
    expect(await get('/v1/nothing')).toMatchObject({ ...knownKey(), route: 'none', status: 404, code: 'not_found' });
  });

  it("identifies an unknown key by the first digits of the key's hash, so that whoever has the key can find it", async () => {
    const unknown = createApiKey();
    const digits = createHash('sha256').update(unknown).digest('hex').slice(0, 12);
    const refused = { status: 401, client_address: '127.0.0.1', code: 'unauthorized', credential: digits };
    const line = await get('/v1/calls/call_3', { key: unknown });
    expect(line).toMatchObject({ ...refused, reason: 'INVALID_API_KEY' });
    expect(line).not.toHaveProperty('organization');
    expect(await get('/nothing', { key: undefined })).not.toHaveProperty('credential');
    const { credential } = await get('/nothing', { key: 'no-key-at-all' });
    expect(credential).toBe(createHash('sha256').update('no-key-at-all').digest('hex').slice(0, 12));
  });

  it('has the id of the key if its organization is over the limit', async () => {
    const limit = { requests: 1, period_seconds: 60 };
    const organization = tenant('small');
    await world.load([{ type: 'organization', id: organization, name: 'Small', rate_limit: limit }]);
    const small = await world.createKey(organization);
    await get('/v1/calls/call_3', { key: small });
    const line = await get('/v1/calls/call_3', { key: small });
    expect(line).toMatchObject({ organization, key_id: expect.any(String), status: 429, code: 'rate_limited' });
    expect(line).not.toHaveProperty('credential');
  });
});

it('bytes that are not HTTP are not logged', async () => {
  const before = world.log.length;
  await sendRaw(world.stack.addresses.api, 'GET / HTTP/9\r\n\r\n');
  const lines = world.log.slice(before).map((line) => JSON.parse(line));
  // Counts of earlier refusals may be logged at any time.
  expect(lines.filter(({ service, msg }) => service === 'api-gateway' && msg !== 'refused again')).toEqual([]);
});

describe('an invalid id in the path', () => {
  it.each(['two%20words', 'line%0Abreak', '%7B%22msg%22%3A1%7D', 'a'.repeat(129), '%E2%80%AE', '..%2F..%2Fetc'])(
    'such as %s is not logged',
    async (id) => {
      const line = await get(`/v1/calls/${id}`);
      expect(line).toMatchObject({ route: '/v1/calls/{call_id}', status: 404 });
      expect(line).not.toHaveProperty('call_id');
      expect(await get(`/v1/projects/${id}`)).not.toHaveProperty('project_id');
    },
  );

  it('is not logged if it is an API key', async () => {
    expect(await get(`/v1/calls/${key}`)).not.toHaveProperty('call_id');
    expect(world.log.join('')).not.toContain(key);
  });
});

it("client_address is the client's full address behind trusted proxies, and otherwise the peer's", async () => {
  const gateway = await startGateway(world, { trustedProxies: parseNetworks('127.0.0.1,10.0.0.0/8')! });
  const from = async (forwarded: string, rest = gateway.rest) =>
    (await lineOf(await rest('/v1/calls/call_3', { key, headers: { 'x-forwarded-for': forwarded } })))['client_address'];
  expect(await from('192.0.2.7, 10.1.2.3')).toBe('192.0.2.7');
  expect(await from('198.51.100.1, 2001:DB8:0:1::00ff')).toBe('2001:db8:0:1::ff');
  expect(await from('<script>, 10.1.2.3')).toBe('10.1.2.3');
  expect(await from('192.0.2.7', world.rest)).toBe('127.0.0.1');
  await gateway.stop();
});

it('every log line matches docs/log.schema.json', () => {
  expect(world.log.length).toBeGreaterThan(30);
  expect(logProblems(world.log)).toEqual([]);
});
