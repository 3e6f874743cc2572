import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createToken } from '../src/credentials.ts';
import { toolClient, type Tools } from '../src/mcp.ts';
import { startTestPostgres, type TestPostgres } from '../src/postgres.ts';
import { createTemplate } from '../src/setup.ts';
import { startWorld, type OwnWorld, type World } from '../src/world.ts';

const ANN = 'ann@example.com';
const PROJECT = '00000000-0000-4000-8000-0000000000a0';
const AT = '2025-03-01T00:00:00Z';
const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
/** In an order that neither locale produces. English sorting ignores case and punctuation unless the rest is equal. */
const IDS = ['b', 'A', '_c', 'a', '-b', '10', 'C', '9', 'B1', 'b-1'];
/** The same word for a filter that ignores case and Unicode forms, and one that only looks like it. */
const WORDS = ['Côte', 'CO\u0302TE', 'cote'];
const COUNTRIES = ['Türkiye', 'TÜRKIYE', 'Tu\u0308rkiye', 'Turkiye'];

const records = [
  { type: 'organization', id: 'acme', name: 'Acme' },
  { type: 'user', organization: 'acme', email: ANN, name: 'Ann' },
  { type: 'project', organization: 'acme', id: PROJECT, name: 'Study', created_by: ANN },
  ...IDS.map((id, n) => ({
    type: 'call',
    organization: 'acme',
    id,
    project_id: PROJECT,
    created_at: AT,
    date: AT,
    segment: WORDS[n % WORDS.length],
    expert: { name: id, job_title: WORDS[n % WORDS.length], country: COUNTRIES[n % COUNTRIES.length] },
  })),
];

/** Each reads a list in pages of three. @returns the ids of each page */
const LISTS: Record<string, (world: World, tools: Tools) => Promise<string[][]>> = {
  'GET /v1/calls': async (world) => {
    const key = await world.createKey('acme');
    const pages = [1, 2, 3, 4].map((page) => world.rest(`/v1/calls?${RANGE}&per_page=3&page=${page}`, { key }));
    return (await Promise.all(pages)).map(({ json }) => json.data.map((call: { call_id: string }) => call.call_id));
  },
  list_calls: (_, tools) => toolPages(tools, {}),
  'list_calls by country': (_, tools) => toolPages(tools, { country: 'türkiye' }),
  'list_calls by a part of a job title': (_, tools) => toolPages(tools, { job_title_contains: 'CÔT' }),
};

async function toolPages(tools: Tools, filters: object): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const { value } = await tools('list_calls', { project_id: PROJECT, scope: 'all', limit: 3, cursor, ...filters });
    pages.push(value.calls.map((call: { id: string }) => call.id));
    cursor = value.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return pages;
}

let bytewise: TestPostgres;
const worlds: [OwnWorld, Tools][] = [];

beforeAll(async () => {
  bytewise = await startTestPostgres('C');
  const { name: template } = await createTemplate(bytewise.url);
  for (const world of [await startWorld(), await startWorld({}, { url: bytewise.url, template })]) {
    await world.load(records);
    worlds.push([world, toolClient(world.stack.addresses.tools, await createToken(world.operator, 'acme', ANN))]);
  }
});
afterAll(async () => {
  for (const [world] of worlds) await world.close();
  await bytewise?.stop();
});

describe.each(Object.keys(LISTS))('%s', (name) => {
  it('has the same pages in a database that orders text by English rules and in one that orders it by bytes', async () => {
    const [english, byBytes] = await Promise.all(worlds.map(([world, tools]) => LISTS[name]!(world, tools)));
    expect(english!.flat().length).toBeGreaterThan(1);
    expect(byBytes).toEqual(english);
  });
});
