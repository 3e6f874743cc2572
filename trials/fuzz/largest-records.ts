/** The largest records: lines for the import RPCs, and details, pages and tool results that contain them. */
import { toolCall } from '@crs/testing/mcp';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { sending, type Greatest } from './greatest.ts';
import { EMAILS } from './records.ts';
import type { FuzzSystem } from './system.ts';
import { LEGACY, toolHeaders } from './tool-message.ts';

const ORGANIZATION = 'large';
const MIB = 1024 * 1024;
const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
const NAME = 'Eva Maria Smith';
/** A line of an import is at most 8 MiB. */
const LINE_BYTES = 8 * MIB - 1_000;
const MARKS = '\u0301\u0316';

type Service = 'auth' | 'calls' | 'projects' | 'entities';

const call = (id: string, fields: object) => ({
  type: 'call',
  organization: ORGANIZATION,
  id,
  created_at: '2025-03-01T00:00:00Z',
  conducted_by: EMAILS.ann,
  expert: { name: NAME },
  ...fields,
});
const items = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));
const labelled = (bytes: number) => `${NAME}: ${'word '.repeat(20)}\n`.repeat(bytes / 120);

/** The largest calls. Names are anonymized, so that all text is searched for labels. */
const CALLS = {
  text: call('text', { transcript: labelled(7.5 * MIB) }),
  line: call('line', { transcript: 'word '.repeat(1.5 * MIB) }),
  segments: call('segments', { transcript: items(1_000, (n) => ({ speaker: NAME, start_seconds: n, text: 'word '.repeat(1_500) })) }),
  blocks: call('blocks', { qa_blocks: items(1_000, () => ({ question: 'word '.repeat(700), answer: 'word '.repeat(700) })) }),
  people: call('people', { participants: items(1_000, (n) => ({ name: `${NAME} ${n}`, role: 'r'.repeat(1_000), email: 'eva@b.example' })) }),
}; // prettier-ignore

/** Calls for a page of details. */
const PAGE = items(50, (n) => call(`page_${n}`, { transcript: labelled(150_000), summary: 'word '.repeat(1_000) }));

/** Stores the largest records. @returns the inputs that read them, and the inputs that import valid and invalid lines */
export async function largestRecords(system: FuzzSystem): Promise<Greatest[]> {
  const { operator } = system;
  await load(operator, [
    { type: 'organization', id: ORGANIZATION, name: 'Large', anonymize_interviewees: true, write_surface: true, rate_limit: { requests: 1e6, period_seconds: 60 }, tool_rate_limit: { requests: 1e6, period_seconds: 60 } },
    { type: 'user', organization: ORGANIZATION, email: EMAILS.ann, name: 'Ann' },
    ...Object.values(CALLS),
    ...PAGE,
  ]); // prettier-ignore
  const key = `Bearer ${await createKey(operator, ORGANIZATION)}`;
  const writer = `Bearer ${await createKey(operator, ORGANIZATION, { rights: ['ingest', 'delete'] })}`;
  const token = `Bearer ${await createToken(operator, ORGANIZATION, EMAILS.ann)}`;
  const get = (target: string) =>
    sending(system.api, `GET ${target.slice(0, 60)}`, {
      method: 'GET',
      target: `/v1${target}`,
      headers: [
        ['Host', system.api],
        ['Authorization', key],
      ],
    });
  const use = (name: string, args: object) => {
    const headers = toolHeaders(system.tools, token, { version: LEGACY });
    const body = JSON.stringify(toolCall(name, args));
    return sending(system.tools, `${name} ${JSON.stringify(args)}`, { method: 'POST', target: '/mcp', headers, body });
  };
  return [
    ...Object.keys(CALLS).map((id) => get(`/calls/${id}`)),
    ...Object.keys(CALLS).map((id) => use('get_call', { call_id: id, include_transcript: true })),
    get(`/calls?expand=detail&per_page=50&${RANGE}`),
    get(`/calls?expand=detail&per_page=1&${RANGE}`),
    get(`/calls?per_page=200&${RANGE}`),
    get('/changes?expand=detail&limit=50'),
    get('/changes?limit=1000'),
    use('list_calls', { limit: 100 }),
    ...batches().flatMap((batch) => [imported(system, batch), posted(system.api, writer, batch)]),
    ...putCalls(system.api, writer),
  ];
}

interface Batch {
  name: string;
  service: Service;
  lines: string[];
}

/** Batches with lines as large as a line or a batch may be. */
function batches(): Batch[] {
  const id = '11111111-2222-4333-8444-555555555555';
  const bare = { type: 'call', organization: ORGANIZATION, id: 'imported' };
  const project = { type: 'project', organization: ORGANIZATION, id };
  const fillList = (item: unknown) => {
    const text = JSON.stringify(item);
    return `[${`${text},`.repeat(LINE_BYTES / (text.length + 1) - 2)}${text}]`;
  };
  const withField = (record: object, name: string, value: string) => `${JSON.stringify(record).slice(0, -1)},"${name}":${value}}`;
  const lists = (record: object, name: string, item: unknown): string[] => [
    withField(record, name, fillList(item)),
    withField(record, name, JSON.stringify(items(1_000, () => item))),
    withField(record, name, fillList(0)),
  ];
  const all: [name: string, service: Service, lines: string[]][] = [
    ...Object.entries(CALLS).map(([name, record]): [string, Service, string[]] => [`the largest ${name}`, 'calls', [JSON.stringify(record)]]),
    ...lists(bare, 'qa_blocks', {}).map((line): [string, Service, string[]] => ['qa_blocks', 'calls', [line]]),
    ...lists(bare, 'participants', { name: 'a' }).map((line): [string, Service, string[]] => ['participants', 'calls', [line]]),
    ...lists(bare, 'transcript', { text: '' }).map((line): [string, Service, string[]] => ['segments', 'calls', [line]]),
    ...lists(bare, 'notes', { email: EMAILS.ann, text: '' }).map((line): [string, Service, string[]] => ['notes', 'calls', [line]]),
    ...lists(project, 'members', { email: EMAILS.ann }).map((line): [string, Service, string[]] => ['members', 'projects', [line]]),
    ...lists({ type: 'organization', id: ORGANIZATION }, 'allowed_fields', 'summary').map((line): [string, Service, string[]] => ['allowed_fields', 'auth', [line]]),
    ...(['auth', 'calls', 'projects', 'entities'] as const).flatMap((service): [string, Service, string[]][] => [
      ['no JSON', service, ['{'.repeat(LINE_BYTES)]],
      ['nested lists', service, ['['.repeat(LINE_BYTES)]],
      ['nested objects', service, ['{"a":'.repeat(LINE_BYTES / 5)]],
      ['many properties', service, [`{${items(500_000, (n) => `"${n.toString(36)}":1`).join()}}`]],
      ['a long text', service, [JSON.stringify('a'.repeat(LINE_BYTES))]],
      ['1,000 bad lines', service, items(1_000, () => '{}')],
    ]),
    ['a segment of marks', 'calls', [JSON.stringify({ ...bare, segment: MARKS.repeat(1.9 * MIB) })]],
    ['a country of marks', 'calls', [JSON.stringify({ ...bare, expert: { country: MARKS.repeat(1.9 * MIB) } })]],
    ['a description', 'entities', [JSON.stringify({ type: 'entity', organization: ORGANIZATION, project_id: id, id, name: 'a', description: 'a'.repeat(LINE_BYTES) })]],
    ['an entity of marks', 'entities', [JSON.stringify({ type: 'entity', organization: ORGANIZATION, project_id: id, id, name: MARKS.repeat(1.9 * MIB) })]],
    ['a summary', 'projects', [JSON.stringify({ ...project, summary: 'a'.repeat(LINE_BYTES) })]],
    ['1,000 calls', 'calls', items(1_000, (n) => JSON.stringify(call(`many_${n}`, { transcript: 'word '.repeat(3_000) })))],
    ['1,000 users', 'auth', items(1_000, (n) => JSON.stringify({ type: 'user', organization: ORGANIZATION, email: `u${n}@b.example`, name: 'U' }))],
    ['1,000 entities', 'entities', items(1_000, (n) => JSON.stringify({ type: 'entity', organization: ORGANIZATION, project_id: id, id, name: `${n}` }))],
    ['1,000 projects', 'projects', items(1_000, (n) => JSON.stringify({ ...project, name: `${n}`, members: [{ email: EMAILS.ann }] }))],
  ]; // prettier-ignore
  return all.map(([name, service, lines]) => ({
    name: `${service}: ${name} (${(Buffer.byteLength(lines.join('')) / MIB).toFixed(1)} MiB)`,
    service,
    lines,
  }));
}

/** Sends a batch as `crs import` does. */
function imported({ operator }: FuzzSystem, { name, service, lines }: Batch): Greatest {
  return {
    name: `ImportRecords of ${name}`,
    send: async () => {
      const sent = lines.map((line, n) => ({ number: n + 1, json: Buffer.from(line), id: '' }));
      try {
        await operator.importers[service].importRecords({ lines: sent }, await operator.operator(ORGANIZATION));
        return [];
      } catch (error) {
        // A batch may be refused as a whole, but must not break anything.
        return (error as { kind?: string }).kind === 'invalid_argument' ? [] : [`error: ${(error as Error).message}`];
      }
    },
  };
}

/** Sends a batch as the program of an integrator does. */
function posted(api: string, key: string, { name, lines }: Batch): Greatest {
  return sending(api, `POST /v1/records of ${name}`, {
    method: 'POST',
    target: '/v1/records',
    headers: [['Host', api], ['Authorization', key], ['Content-Type', 'application/x-ndjson']],
    body: lines.join('\n'),
  }); // prettier-ignore
}

function putCalls(api: string, key: string): Greatest[] {
  const put = (name: string, method: string, body: string) =>
    sending(api, `${method} of a call: ${name}`, {
      method,
      target: '/v1/calls/put',
      headers: [['Host', api], ['Authorization', key], ['Content-Type', 'application/json']],
      body,
    }); // prettier-ignore
  return ['PUT', 'PATCH'].flatMap((method) => [
    ...Object.entries(CALLS).map(([name, { type: _type, organization: _organization, id: _id, ...body }]) =>
      put(`the largest ${name}`, method, JSON.stringify(body)),
    ),
    put('nested lists', method, '['.repeat(LINE_BYTES)),
    put('nested objects', method, '{"a":'.repeat(LINE_BYTES / 5)),
    put('many properties', method, `{${items(500_000, (n) => `"${n.toString(36)}":1`).join()}}`),
    put('a text of marks', method, JSON.stringify({ segment: MARKS.repeat(1.9 * MIB) })),
  ]);
}
