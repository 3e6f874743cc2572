import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LOG_SCHEMA, logProblems } from '../src/log-schema.ts';

const page = readFileSync(new URL('../../docs/log.md', import.meta.url), 'utf8');
/** Returns the part of the page below a heading. */
const section = (heading: string) => page.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`))!;
const shared = [...section('Every line').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name!);

test.each(['request', 'refused_again'])('docs/log.md has a row for each field of %s, and no other row', (kind) => {
  const fields = Object.keys(LOG_SCHEMA.$defs[kind]!.properties).filter((name) => !shared.includes(name));
  const rows = [...section(`\`${kind.replace('_', ' ')}\``).matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name!);
  expect(rows.toSorted()).toEqual(fields.toSorted());
});

test.each<[string, object]>([
  ['an undocumented field', { email: 'ann@acme.example' }],
  ['a path instead of its template', { route: '/v1/calls/a b' }],
  ['free text in a query', { query: { country: 'Utopia' } }],
  ['an invalid id', { call_id: 'two words' }],
  ['a key without its organization', { key_id: 'key_0123456789abcdef' }],
])('the schema refuses %s', (_, fault) => {
  const line = {
    level: 'info',
    severity: 'INFO',
    time: '2026-01-31T12:00:00.000Z',
    service: 'api-gateway',
    msg: 'request',
    trace_id: '0'.repeat(32),
    method: 'GET',
    route: '/v1/calls',
    status: 200,
    seconds: 0.001,
    client_address: '192.0.2.1',
  };
  expect(logProblems([JSON.stringify(line)])).toEqual([]);
  expect(logProblems([JSON.stringify({ ...line, ...fault })])).toHaveLength(1);
});
