import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { logProblems } from '@crs/testing/log-schema';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { ask, bearer, LEGACY, message, MODERN, spoken, toolCall, type Ask } from './_requests.ts';

const ANN = 'ann@acme.example';
const PROJECT = '6f1d3c52-8a0e-4b57-9d1c-2e7f40a9b813';
const ENTITY = '0b7f1c52-8a0e-4b57-9d1c-2e7f40a9b813';
/** A word in free text fields and arguments, which no log line may contain. */
const CANARY = 'canary-word';
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let token: string;
let who: object;
/** The log lines since the start of this file. */
let log: () => string[];

beforeAll(async () => {
  // The tests find log lines by request id, which is the trace id, so tracing must be on.
  world = await sharedWorld();
  const before = world.log.length;
  log = () => world.log.slice(before);
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization },
      { type: 'user', organization, email: ANN, name: 'Ann' },
      { type: 'project', organization, id: PROJECT, name: CANARY, members: [{ email: ANN, role: 'lead' }] },
      { type: 'entity', organization, project_id: PROJECT, id: ENTITY, name: CANARY, entity_type: CANARY },
      ...Array.from({ length: 3 }, (_, n) => ({
        type: 'call',
        organization,
        id: `call_${n}`,
        project_id: PROJECT,
        conducted_by: ANN,
        date: `2025-02-0${n + 1}T00:00:00Z`,
        created_at: `2025-02-0${n + 1}T00:00:00Z`,
        segment: CANARY,
      })),
    ]),
  );
  token = await bearer(world, ACME, ANN);
  const operator = await world.operator.operator(ACME);
  const { tokens } = await world.operator.auth.listTokens({}, operator);
  const { users } = await world.operator.auth.listUsers({}, operator);
  who = { organization: ACME, grant_id: tokens[0]!.tokenId, user_id: users[0]!.userId, client_address: '127.0.0.1' };
});

/** Sends a request. @returns its access-log line, without the fields that all lines have */
async function lineOf(request: Ask): Promise<Record<string, unknown>> {
  const { headers } = await ask(world.stack.addresses.tools, request);
  return vi.waitFor(() => {
    const lines = log()
      .filter((line) => line.includes(`"trace_id":"${String(headers['x-request-id'])}"`))
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'request');
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

const calling = (tool: string, args: object = {}, version = LEGACY) => lineOf(spoken(version, toolCall(tool, args), token));

describe('the access-log line of a tool call records who read what:', () => {
  it.each([LEGACY, MODERN])('a call, over protocol version %s', async (version) => {
    expect(await calling('get_call', { call_id: 'call_1', include_transcript: true }, version)).toEqual({
      ...who,
      method: 'POST',
      route: '/mcp',
      operation: 'tools/call',
      tool: 'get_call',
      status: 200,
      tool_status: 200,
      seconds: expect.any(Number),
      bytes: expect.any(Number),
      call_id: 'call_1',
      query: { include_ktas: true, include_notes: true, include_qa: true, include_summary: true, include_transcript: true },
    });
  });

  it('a page of calls, with its filters except free text, its size, and its first and last id', async () => {
    const filters = {
      scope: 'all',
      call_type: 'interview',
      call_status: CANARY,
      country: CANARY,
      segment_contains: CANARY,
      job_title_contains: CANARY,
      min_cost: 1.5,
      date_after: '2025-01-01T01:00:00+01:00',
    };
    expect(await calling('list_calls', { ...filters, project_id: PROJECT.toUpperCase() })).toMatchObject({
      ...who,
      tool: 'list_calls',
      project_id: PROJECT,
      query: {
        scope: 'all',
        call_type: 'interview',
        call_status: true,
        country: true,
        segment_contains: true,
        job_title_contains: true,
        min_cost: 1.5,
        date_after: '2025-01-01T00:00:00.000Z',
        limit: 25,
      },
      rows: 0,
    });
    expect(await calling('list_calls', { limit: 2 })).toMatchObject({ rows: 2, first_id: 'call_2', last_id: 'call_1' });
    const first = await ask(world.stack.addresses.tools, spoken(LEGACY, toolCall('list_calls', { limit: 2 }), token));
    const cursor = first.json.result.structuredContent.next_cursor;
    expect(await calling('list_calls', { limit: 2, cursor })).toMatchObject({
      query: { scope: 'mine', cursor: true, limit: 2 },
      rows: 1,
      first_id: 'call_0',
      last_id: 'call_0',
    });
  });

  it('pages of projects and entities', async () => {
    expect(await calling('list_projects')).toMatchObject({ rows: 1, first_id: PROJECT, last_id: PROJECT });
    expect(await calling('list_entities', { project_id: PROJECT, type: CANARY })).toMatchObject({
      project_id: PROJECT,
      query: { type: true, limit: 50 },
      rows: 1,
      first_id: ENTITY,
    });
  });
});

describe('the access-log line of a refusal', () => {
  it('has as tool_status the status that REST would have returned', async () => {
    const refused = { ...who, status: 200, tool_status: 404, code: 'not_found', reason: 'NOT_FOUND', call_id: 'call_99' };
    expect(await calling('get_call', { call_id: 'call_99' })).toMatchObject(refused);
    const bad = await calling('get_call', { call_id: `${CANARY} ${CANARY}`, [CANARY]: CANARY });
    expect(bad).toMatchObject({ tool: 'get_call', tool_status: 400, code: 'bad_request' });
    const none = await calling('get_call', { call_id: `${CANARY} ${CANARY}` });
    expect([none['tool_status'], none['call_id']]).toEqual([404, undefined]);
  });

  it('for a token without the required scope has the id of its grant', async () => {
    const other = await bearer(world, ACME, ANN, ['projects:read']);
    const line = await lineOf(spoken(LEGACY, toolCall('get_call', { call_id: 'call_1' }), other));
    expect(line).toMatchObject({ organization: ACME, status: 403, code: 'unauthorized' });
    expect(line['grant_id']).not.toBe((who as { grant_id: string }).grant_id);
  });

  it('identifies an unknown token by the first digits of its hash', async () => {
    const line = await lineOf(spoken(LEGACY, toolCall('list_calls'), 'Bearer unknown'));
    const credential = createHash('sha256').update('unknown').digest('hex').slice(0, 12);
    expect(line).toMatchObject({ route: '/mcp', status: 401, code: 'unauthorized', credential, client_address: '127.0.0.1' });
    expect(line).not.toHaveProperty('organization');
  });
});

it.each([
  ['tools/list', 'tools/list'],
  ['ping', 'ping'],
  [CANARY, 'other'],
])('the message %s is logged as the operation %s', async (method, operation) => {
  expect(await lineOf(spoken(LEGACY, message(method), token))).toMatchObject({ ...who, operation });
});

it('every log line matches docs/log.schema.json, and contains no free text', () => {
  expect(log().length).toBeGreaterThan(15);
  expect(logProblems(log())).toEqual([]);
  expect(log().filter((line) => line.includes(CANARY))).toEqual([]);
});
