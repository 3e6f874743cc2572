import { readFileSync } from 'node:fs';
import { authLine } from '@crs/auth/import-records';
import { callLine, callMerge } from '@crs/calls/call-record';
import { deletionLine } from '@crs/crs/send';
import { entityLine, entityMerge } from '@crs/entities/import-records';
import { parseLine } from '@crs/records/import-record';
import { projectMerge, projectsLine } from '@crs/projects/import-records';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { callBodiesText, fieldLists, schemaText } from '../src/import-schema.ts';
import { mutations } from '../src/mutations.ts';

const ROOT = new URL('../../', import.meta.url);
const DOCUMENT = new URL('docs/import.md', ROOT).pathname;
const page = readFileSync(DOCUMENT, 'utf8');

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
addFormats.default(ajv);
const validate = ajv.compile(JSON.parse(schemaText()) as object);

const read = (schema: Parameters<typeof parseLine>[0], line: unknown) => parseLine(schema, Buffer.from(JSON.stringify(line)));
const accepted = (line: unknown) =>
  [authLine, projectsLine, projectMerge, callLine, callMerge, entityLine, entityMerge, deletionLine].some(
    (schema) => 'record' in read(schema, line),
  );

const parsed = (text: string) => text.match(/^\{"type".*\}$/gm)!.map((line) => JSON.parse(line) as Record<string, unknown>);
const examples = parsed(page);
const demo = parsed(readFileSync(new URL('deploy/local/demo/demo.ndjson', ROOT), 'utf8'));
/** Fields that are neither in the examples nor in the demo. */
const RARE = [
  {
    type: 'organization',
    id: 'a',
    write_surface: true,
    allowed_fields: ['summary'],
    tool_rate_limit: { requests: 1, period_seconds: 2 },
    delete_limit: 3,
    retain_calls: '3y',
    retain_by: 'date',
    retain_per_day: 4,
    clients: 'listed',
    client_hosts: ['claude.ai'],
    own_tokens: true,
  },
  { type: 'user', organization: 'a', email: 'ann@acme.example', name: null, password: 'correct horse battery' },
  {
    type: 'call',
    organization: 'a',
    id: 'c',
    redacted_transcript: 'x',
    notes: [{ email: 'a@b', text: 'x' }],
    language: 'en',
    deleted: false,
  },
  { type: 'call', organization: 'a', id: 'c', deleted: true },
  {
    type: 'call',
    organization: 'a',
    id: 'c',
    merge: true,
    summary: null,
    expert: { bio: null },
    participants: [{}],
    created_at: null,
  },
  { type: 'entity', organization: 'a', id: '11111111-2222-4333-8444-55555555555a', merge: true, name: 'x' },
  { type: 'project', organization: 'a', id: '11111111-2222-4333-8444-55555555555a', merge: true, members: [{ email: 'a@b' }] },
  { type: 'user', organization: 'a', email: 'ann@acme.example', deleted: true },
  { type: 'project', organization: 'a', id: '11111111-2222-4333-8444-55555555555A', deleted: true },
  { type: 'entity', organization: 'a', id: '11111111-2222-4333-8444-55555555555a', deleted: true },
];
test('the schema that crs prints is the one generated from the validators', async () => {
  await expect(schemaText()).toMatchFileSnapshot('../../services/crs/src/import/schema.json');
});

test('the schemas of a call in the OpenAPI document are those generated from the validators', async () => {
  await expect(callBodiesText()).toMatchFileSnapshot('../../services/api-gateway/src/schema/call-bodies.json');
});

test('docs/import.md lists the fields that the validators read', async () => {
  const [start, end] = ['<!-- prettier-ignore-start -->\n', '<!-- prettier-ignore-end -->'];
  const updatedPage = page.replace(new RegExp(`${start}[^]*${end}`), () => `${start}\n${fieldLists()}\n\n${end}`);
  await expect(updatedPage).toMatchFileSnapshot(DOCUMENT);
});

test('the schema and the validators accept the examples and the demo', () => {
  for (const line of [...examples, ...demo, ...RARE]) {
    expect(accepted(line), JSON.stringify(line)).toBe(true);
    expect(validate(line), `${JSON.stringify(line)} ${JSON.stringify(validate.errors)}`).toBe(true);
  }
});

test('the schema accepts a changed line exactly if a validator accepts it', () => {
  const varied = demo.filter(({ type }, i) => demo.findIndex((other) => other['type'] === type) === i);
  const lines = [...examples, ...RARE, ...varied].flatMap((line) => [...mutations(line)]);
  const counts = { accepted: 0, refused: 0 };
  for (const text of new Set(lines.map((line) => JSON.stringify(line) ?? 'null'))) {
    const line: unknown = JSON.parse(text);
    const good = accepted(line);
    if (validate(line) !== good) expect.fail(`${good ? 'accepted' : 'refused'}, but not by the schema: ${text.slice(0, 2_000)}`);
    counts[good ? 'accepted' : 'refused']++;
  }
  expect(counts.accepted).toBeGreaterThan(500);
  expect(counts.refused).toBeGreaterThan(1_000);
});
