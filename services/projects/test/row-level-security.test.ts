import type { CallOptions } from '@crs/kit/rpc/client';
import { exportLines } from '@crs/testing/export';
import { declaredStatements, withoutPredicates, type StrippedStatements } from '@crs/testing/without-predicates';
import { userToken } from '@crs/testing/user-token';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { projectsClient, type ProjectsClient } from './_twins.ts';
import { ALPHA, ANN, BETA, BOB, office, officesOf, project, projectsOf, tenant, TENANTS } from './_records.ts';

/** These statements have no predicate on the organization, as they insert rows of it. */
const WITHOUT_PREDICATE = /^(insert_creation|put_billing_office|put_projects)$/;
const TABLES = ['billing_offices', 'creations', 'projects'];

let stripped: StrippedStatements;
let world: OwnWorld;
let projects: ProjectsClient;
const keys = new Map<string, string>();
const anns = new Map<string, CallOptions>();
const names = new Map<string, string>();

beforeAll(async () => {
  stripped = withoutPredicates('projects');
  world = await startWorld();
  projects = projectsClient(world.stack.addresses.projects);
  for (const id of TENANTS) {
    await world.load(tenant(id));
    keys.set(id, await world.createKey(id));
    anns.set(id, await userToken(world, id, ANN));
  }
});
afterAll(async () => {
  stripped?.stop();
  projects?.close();
  await world?.close();
});
beforeEach(async () => {
  await world.query('truncate projects.billing_offices, projects.projects, projects.creations');
  await world.query('delete from auth.projects');
  for (const id of TENANTS) await store(id);
});

const post = (id: string, key: string, name = 'Made') =>
  world.rest('/v1/projects', {
    key: keys.get(id),
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({ name: `${name} by ${id}`, lead_email: ANN, member_emails: [BOB] }),
  });

/** Stores rows with the same ids for both organizations. The organization's name stands in each row. */
async function store(id: string): Promise<void> {
  await world.load([
    office(id, 'London', { is_default: true }),
    office(id, `only ${id}`),
    project(id, ALPHA, { name: id, billing_office_name: `only ${id}`, created_by: ANN }),
    project(id, BETA, { name: id }),
  ]);
  names.set(id, (await post(id, 'same')).json.project_id);
  await post(id, 'old');
  await world.query(
    `update projects.creations set created_at = created_at - interval '2 days' where idempotency_key = 'client:old'`,
  );
}

async function everything(id: string): Promise<unknown> {
  const { rows } = await world.query('select * from projects.creations where organization = $1 order by idempotency_key', [id]);
  return { offices: await officesOf(world, id), projects: await projectsOf(world, id), creations: rows };
}

/** Runs every operation on the tables. @returns the operations that read or changed rows of another organization */
async function leaks(): Promise<Set<string>> {
  const found = new Set<string>();
  for (const own of TENANTS) {
    const other = TENANTS.find((id) => id !== own)!;
    const before = JSON.stringify(await everything(other));
    const untouched = async (way: string) => {
      if (JSON.stringify(await everything(other)) !== before) found.add(way);
    };
    const get = (path: string) => world.rest(path, { key: keys.get(own) });

    const offices = await get('/v1/billing-offices');
    if (offices.text.includes(other) || offices.json.data?.length !== 2) found.add('offices');
    const detail = await get(`/v1/projects/${ALPHA}`);
    if (detail.text.includes(other) || detail.json.name !== own) found.add('detail');
    if ((await get(`/v1/projects/${names.get(other)}`)).status !== 404) found.add('detail');

    // Ann of each organization created the project ALPHA and leads both projects made by REST.
    const first = await projects.listUserProjects(
      { mine: false, includeArchived: true, after: undefined, limit: 1 },
      anns.get(own),
    );
    const rest = await projects.listUserProjects(
      { mine: false, includeArchived: true, after: first.next, limit: 50 },
      anns.get(own),
    );
    const shown = [...first.projects, ...rest.projects];
    if (shown.some((each) => !each.name?.includes(own)) || shown.length !== 3) found.add('list');

    const { operator } = world;
    const newest = await operator.projects.listProjects({ limit: 1, after: undefined }, await operator.operator(own));
    const older = await operator.projects.listProjects({ limit: 0, after: newest.next }, await operator.operator(own));
    const all = [...newest.projects, ...older.projects];
    if (all.length < 3 || all.some((each) => !each.name?.includes(own))) found.add('list of all');
    const exported = await exportLines(world.operator, own);
    if (exported.length === 0 || JSON.stringify(exported).includes(other)) found.add('export');

    const again = await post(own, 'same');
    if (again.json.project_id !== names.get(own) || !again.headers.has('idempotent-replayed')) found.add('creation');
    const made = await post(own, `new ${own}`, 'New');
    if (made.status !== 201 || made.json.billing_office_name !== 'London') found.add('creation');
    await untouched('creation');

    await world.query(
      `update projects.creations set answer = null, lease_until = now() where organization = $1 and idempotency_key = 'client:same'`,
      [own],
    );
    if ((await post(own, 'same')).json.project_id !== names.get(own)) found.add('creation');
    await untouched('creation');

    const lines = [
      office(own, 'London'),
      office(own, 'New', { is_default: true }),
      project(own, ALPHA, { name: own, billing_office_name: `only ${own}` }),
    ];
    const { accepted, refused } = await world
      .tryLoad([...lines, project(own, BETA, { billing_office_name: `only ${other}` })])
      .catch(() => ({ accepted: 0, refused: [] }));
    if (accepted !== 2 || refused.length !== 1) found.add('import');
    await untouched('import');

    const { rows } = await world.query('select user_id as id from auth.users where organization = $1 and email = $2', [
      other,
      ANN,
    ]);
    for (const target of [
      { $case: 'userId', value: rows[0].id },
      { $case: 'projectId', value: ALPHA },
      { $case: 'organization', value: true },
    ] as const) {
      await world.operator.erasers.projects
        .erase({ target }, await world.operator.operator(own))
        .catch(() => found.add('erasure'));
      await untouched('erasure');
    }
    // The other organization's turn needs the first state.
    await world.query('delete from auth.projects where organization = $1', [own]);
    await store(own);
  }
  return found;
}

describe('without the predicate on the organization in any statement', () => {
  it('no operation reads or changes rows of another organization', async () => {
    expect(await leaks()).toEqual(new Set());
  });

  it('every statement of the service was sent', async () => {
    // These failures send the statements that give an idempotency key up.
    expect((await post('acme', 'failed', 'x'.repeat(190))).status).toBe(201);
    await world.query('revoke insert on projects.projects from crs_projects');
    expect((await post('acme', 'failing')).status).toBe(500);
    await world.query('grant insert on projects.projects to crs_projects');
    await world.rest('/v1/projects', {
      key: keys.get('acme'),
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'x', lead_email: 'nobody@crs.example' }),
    });
    await leaks();
    const declared = declaredStatements(new URL('../src/store/', import.meta.url));
    expect(declared.length).toBeGreaterThan(15);
    for (const name of declared) {
      expect(stripped.sent.get(name), `${name} was sent, rewritten`).toBe(!WITHOUT_PREDICATE.test(name));
    }
    expect([...stripped.sent.keys()].filter((name) => name !== 'lock_imports' && !declared.includes(name))).toEqual([]);
  });

  it.each([
    ['billing_offices', ['offices', 'export', 'import', 'erasure']],
    ['projects', ['detail', 'list', 'list of all', 'export', 'erasure']],
    ['creations', ['creation', 'erasure']],
  ])('the operations leak once row-level security of %s is off', async (table, ways) => {
    await world.query(`alter table projects.${table} disable row level security`);
    try {
      expect([...(await leaks())]).toEqual(expect.arrayContaining(ways));
    } finally {
      await world.query(`alter table projects.${table} enable row level security`);
    }
  });

  it('every table of the schema has row-level security and is in the list above', async () => {
    const { rows } = await world.query(
      `select relname as name from pg_class where relnamespace = 'projects'::regnamespace and relkind in ('r', 'p')
        and relname not like 'migrations%' and relrowsecurity and relforcerowsecurity order by 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual(TABLES);
  });
});
