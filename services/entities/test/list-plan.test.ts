import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { openSession, type Session } from '@crs/testing/sql';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { listOrganizationEntities } from '../src/store/feed.ts';

const ROWS = 5_000;
const LIMIT = 20;

let created: TestDatabase;
let session: Session;

beforeAll(async () => {
  created = await createDatabase(inject('postgresUrl'), inject('template'));
  session = await openSession(created.url);
  for (const organization of ['small', 'large', 'other']) {
    await session.query(
      `insert into entities.entities (organization, entity_id, project_id, created_at, overview, record_hash)
        select $1, gen_random_uuid(), gen_random_uuid(), timestamptz '2025-01-01Z' + make_interval(secs => n), repeat('x', 300), ''
        from generate_series(1, $2::int) n`,
      [organization, organization === 'large' ? ROWS : ROWS / 50],
    );
    await session.query(`insert into entities.feeds (organization, secret, position) values ($1, '', 0)`, [organization]);
  }
  await session.query('analyze entities.entities, entities.feeds');
  await session.query('set role crs_entities');
  await session.query(`set app.organization_id = 'large'`);
  await session.query('set plan_cache_mode = force_generic_plan');
});
afterAll(async () => {
  await session?.close();
  await created?.drop();
});

interface Plan {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const literal = (value: unknown) =>
  typeof value === 'number' ? String(value) : `'${value instanceof Date ? value.toISOString() : String(value)}'`;

it.each([
  ['the first page', undefined],
  ['a page in the middle', { createdAt: new Date('2025-01-01T00:40:00Z'), recordId: 'ffffffff-0000-4000-8000-000000000000' }],
])('the plan of %s of the list reads only the rows of the page, twice', async (_name, after) => {
  const { name, text, values = [] } = listOrganizationEntities('large', after, LIMIT);
  await session.query(`prepare ${name} as ${text}`);
  const [row] = await session.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
    `explain (analyze, format json) execute ${name}(${values.map(literal).join()})`,
  );
  const rows = nodesOf(row!['QUERY PLAN'][0]!.Plan)
    .filter((node) => node['Relation Name'] === 'entities')
    .reduce((sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'], 0);
  // First the keys, from an index; then each entity by its key.
  expect(rows).toBe(2 * LIMIT);
});
