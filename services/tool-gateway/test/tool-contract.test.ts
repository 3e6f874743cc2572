import { readFile } from 'node:fs/promises';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { beforeAll, describe, expect, it } from 'vitest';
import { toolClient, type Tools } from '@crs/testing/mcp';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { ask, bearer, LEGACY, message, MODERN, spoken } from './_requests.ts';

const SNAPSHOT = new URL('tool-contract.json', import.meta.url);
const ANN = 'ann@acme.example';
const PROJECT = '00000000-0000-4000-8000-00000000000a';
const ENTITY = '00000000-0000-4000-9000-00000000000a';

interface Definition {
  name: string;
  title: string;
  description: string;
  inputSchema: { additionalProperties: false; properties: Record<string, unknown>; required?: string[] };
  outputSchema: { additionalProperties: false };
  annotations: Record<string, unknown>;
}

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let authorization: string;
let tools: Tools;
let definitions: Definition[];

beforeAll(async () => {
  world = await sharedWorld();
  for (const organization of [ACME, GLOBEX]) await world.load(recordsOf(organization));
  authorization = await bearer(world, ACME, ANN);
  tools = toolClient(world.stack.addresses.tools, authorization.slice('Bearer '.length));
  definitions = (await resultOf(LEGACY, 'tools/list')).tools as Definition[];
});

/** The records of one organization. */
function recordsOf(organization: string): object[] {
  const call = { type: 'call', organization, project_id: PROJECT, conducted_by: ANN };
  return [
    { type: 'organization', id: organization, name: 'Acme', tool_rate_limit: { requests: 100_000, period_seconds: 60 } },
    { type: 'user', organization, email: ANN, name: 'Ann' },
    {
      type: 'project',
      organization,
      id: PROJECT,
      name: 'Alpha',
      summary: 'What it is about',
      status: 'active',
      is_archived: true,
      created_by: ANN,
      members: [{ email: ANN, role: 'lead' }],
    },
    { type: 'project', organization, id: PROJECT.replace(/a$/, 'b'), created_by: ANN },
    {
      ...call,
      id: 'full',
      call_status: 'done',
      anonymity_status: 'complete',
      cost: 120.5,
      date: '2025-01-01T00:00:00Z',
      duration_minutes: 54,
      expert: { name: 'Erin', job_title: 'CFO', organization: 'Initech', country: 'Ireland', bio: 'Long' },
      anonymized_name: 'Expert 1',
      ktas: '- one',
      kta_approval_status: 'pending',
      notes: [{ email: ANN, text: 'Mine' }],
      qa_blocks: [{ question: 'Why?', answer: 'Because.', section: 'First' }, { question: 'And?' }],
      rating: 4.5,
      segment: 'Customers',
      source: 'A network',
      summary: '# Summary',
      transcript: [{ speaker: 'Erin', start_seconds: 1, text: 'Hello' }, { text: 'Hi' }],
    },
    { ...call, id: 'empty' },
    {
      type: 'entity',
      organization,
      project_id: PROJECT,
      id: ENTITY,
      name: 'Initech',
      entity_type: 'company',
      category: 'Software',
      competitor_tier: '1',
      is_competitor: false,
      description: 'Makes things',
      overview: 'More of it',
      domain: 'initech.example',
    },
    { type: 'entity', organization, project_id: PROJECT, id: ENTITY.replace(/a$/, 'b') },
  ];
}

async function resultOf(version: string, method: string, params?: object): Promise<Record<string, unknown>> {
  return (await ask(world.stack.addresses.tools, spoken(version, message(method, params), authorization))).json.result;
}

/** Names, parameters and types, without descriptions and titles. */
function shapeOf(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, each) => (key === 'description' && typeof each === 'string' ? undefined : each)));
}

describe('the tool definitions', () => {
  it('change their shape only together with the version', async () => {
    const client = { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const { version } = (await resultOf(LEGACY, 'initialize', client))['serverInfo'] as { version: string };
    const known = JSON.parse(await readFile(SNAPSHOT, 'utf8')) as { version: string; tools: Definition[] };
    const shapes = (of: Definition[]) =>
      of.map(({ name, inputSchema, outputSchema }) => shapeOf({ name, inputSchema, outputSchema }));
    if (version === known.version) {
      const advice = `A name, a parameter or a response of a tool changed. Clients cache tools by the version: raise it in
        src/protocol/serve-tools.ts, then renew tool-contract.json by running this test with --update.`;
      expect(shapes(definitions), advice).toEqual(shapes(known.tools));
    }
    const advice = 'The words or the version changed: renew tool-contract.json by running this test with --update.';
    const contract = `${JSON.stringify({ version, tools: definitions }, undefined, 2)}\n`;
    await expect(contract, advice).toMatchFileSnapshot(SNAPSHOT.pathname);
  });

  it('are the same in both protocol generations, with a total length of 10,000 to 12,000 characters', async () => {
    const { tools: modern } = await resultOf(MODERN, 'tools/list');
    expect(modern).toEqual(definitions);
    for (const version of [LEGACY, MODERN]) {
      const { length } = JSON.stringify(await resultOf(version, 'tools/list'));
      expect(length).toBeLessThanOrEqual(12_000);
      // A shorter list has probably lost descriptions that models need. `notes.test.ts` checks the individual facts.
      expect(length).toBeGreaterThan(10_000);
    }
  });

  it('have the titles, descriptions and annotations that models and tool directories use', () => {
    expect(definitions.map(({ name }) => name).toSorted()).toEqual(['get_call', 'list_calls', 'list_entities', 'list_projects']);
    for (const { title, description, inputSchema, outputSchema, annotations } of definitions) {
      expect(title).toMatch(/\S/);
      expect(description.length).toBeGreaterThan(60);
      expect([inputSchema.additionalProperties, outputSchema.additionalProperties]).toEqual([false, false]);
      expect(annotations).toMatchObject({ title, readOnlyHint: true });
    }
  });

  it('have the parameters of the specification', () => {
    const parameters = Object.fromEntries(
      definitions.map(({ name, inputSchema: { properties } }) => [name, Object.keys(properties)]),
    );
    const include = ['ktas', 'notes', 'qa', 'summary', 'transcript'].map((part) => `include_${part}`);
    expect(parameters).toEqual({
      get_call: ['call_id', ...include],
      list_calls: [
        ...['scope', 'project_id', 'call_status', 'call_type', 'country', 'job_title_contains', 'organization_contains'],
        ...['source_contains', 'segment_contains', 'min_rating', 'min_cost', 'max_cost', 'min_duration_minutes'],
        ...['max_duration_minutes', 'date_after', 'date_before', 'cursor', 'limit'],
      ],
      list_entities: ['project_id', 'type', 'cursor', 'limit'],
      list_projects: ['scope', 'include_archived', 'cursor', 'limit'],
    });
    const required = definitions.map(({ name, inputSchema }) => [name, inputSchema.required ?? []]);
    expect(Object.fromEntries(required)).toEqual({
      get_call: ['call_id'],
      list_calls: [],
      list_entities: ['project_id'],
      list_projects: [],
    });
  });
});

describe('a result', () => {
  const flags = ['include_ktas', 'include_notes', 'include_qa', 'include_summary', 'include_transcript'];
  it.each<[string, object]>([
    ['list_projects', { include_archived: true }],
    ['list_projects', { scope: 'all', include_archived: true, limit: 1 }],
    ['list_calls', {}],
    ['list_calls', { scope: 'all', limit: 1 }],
    ['list_calls', { country: 'Nowhere' }],
    ['list_entities', { project_id: PROJECT }],
    ['list_entities', { project_id: PROJECT, limit: 1 }],
    ...['full', 'empty'].flatMap((id): [string, object][] =>
      [{}, ...[true, false].map((all) => Object.fromEntries(flags.map((flag) => [flag, all])))].map((args) => [
        'get_call',
        { call_id: id, ...args },
      ]),
    ),
  ])('of %s with %j matches its schema, and has the same content as text', async (name, args) => {
    const { value, json } = await tools(name, args);
    const { outputSchema } = definitions.find((each) => each.name === name)!;
    const { valid, errorMessage } = new AjvJsonSchemaValidator().getValidator(outputSchema)(value);
    expect([valid, errorMessage]).toEqual([true, undefined]);
    expect(json.result.content).toEqual([{ type: 'text', text: JSON.stringify(value) }]);
  });

  it.each(['Done', 'DONE', 'finished', ' done'])(
    'of list_calls has no rows for the unknown call_status %j, and lists the known values',
    async (status) => {
      const { value, json } = await tools('list_calls', { scope: 'all', call_status: status });
      expect(value).toEqual({ calls: [], next_cursor: null });
      expect(json.result.content).toEqual([
        { type: 'text', text: JSON.stringify(value) },
        {
          type: 'text',
          text: 'No call has this call_status. It is exact and case-sensitive: scheduled, reached_out, not_scheduled, done (took place), rescheduled, not_interested, canceled, candidate.',
        },
      ]);
      const known = await tools('list_calls', { scope: 'all', call_status: 'candidate' });
      expect(known.json.result.content).toEqual([{ type: 'text', text: JSON.stringify({ calls: [], next_cursor: null }) }]);
    },
  );

  it('of get_call contains exactly the requested parts', async () => {
    const parts = {
      include_ktas: ['ktas', 'kta_approval_status'],
      include_notes: ['notes'],
      include_qa: ['qa_blocks'],
      include_summary: ['summary'],
      include_transcript: ['transcript'],
    };
    const keysOf = async (args: object) => Object.keys((await tools('get_call', { call_id: 'full', ...args })).value).toSorted();
    const standard = await keysOf({});
    expect(standard).toEqual(expect.arrayContaining(Object.values(parts).flat().slice(0, -1)));
    for (const [flag, keys] of Object.entries(parts)) {
      expect(await keysOf({ [flag]: false }), flag).toEqual(standard.filter((key) => !keys.includes(key)));
      expect(await keysOf({ [flag]: true }), flag).toEqual([...new Set([...standard, ...keys])].toSorted());
    }
  });
});
