import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { toolClient, type Tools } from '@crs/testing/mcp';
import { openSession } from '@crs/testing/sql';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import {
  FILTERS,
  Oracle,
  PROJECTS,
  queries,
  records,
  tenant as randomTenant,
  USERS,
  type Filters,
  type Tenant,
} from './_oracle.ts';

/**
 * The number of random data sets. Those of the default seed cover every filter and every combination of reasons to see a project,
 * and kill each mutant in `testing/src/mutants/visibility.ts`. Set `CRS_WORLDS=500 CRS_TEST_SEED=7` to test more and others.
 */
const WORLDS = Number(process.env['CRS_WORLDS'] ?? 2);
const SEED = Number(process.env['CRS_TEST_SEED'] ?? 37);

let world: World;
/** The filters that excluded some rows but not all, and the combinations of reasons why some user sees a project. */
const covered = { filters: new Set<string>(), reasons: new Set<string>() };

beforeAll(async () => {
  world = await sharedWorld();
});

async function connect(organization: string, email: string): Promise<Tools> {
  const { accessToken } = await world.operator.auth.createToken(
    { email, scopes: [], expiresInSeconds: 0 },
    await world.operator.operator(organization),
  );
  return toolClient(world.stack.addresses.tools, accessToken);
}

/** Derives the user ids of an organization from e-mails, so that every user id exists in both organizations. */
async function shareUserIds(organization: string): Promise<void> {
  const ofUser = (column: string) => `(select md5(u.email_folded)::uuid from auth.users u
    where u.organization = '${organization}' and u.user_id = t.${column})`;
  const columns = [
    ['calls.calls', 'conducted_by'],
    ['calls.notes', 'user_id'],
    ['auth.projects', 'created_by'],
    ['auth.project_roles', 'user_id'],
  ] as const;
  const session = await openSession(world.databaseUrl);
  // Makes Citus propagate the `set local` below to its nodes. Without Citus it has no effect.
  await session.query(`set citus.propagate_set_commands = 'local'`);
  await session.query('begin');
  await session.query('set local session_replication_role = replica');
  for (const [table, column] of columns) {
    await session.query(`update ${table} t set ${column} = ${ofUser(column)} where organization = '${organization}'`);
  }
  await session.query(`update auth.users set user_id = md5(email_folded)::uuid where organization = '${organization}'`);
  await session.query('commit');
  await session.close();
}

/** Reads all pages of `limit` rows. @returns their rows */
async function readAll(tools: Tools, name: string, key: string, args: object, limit: number): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (let cursor: string | null = null; ;) {
    const { value, error } = await tools(name, { ...args, limit, ...(cursor !== null && { cursor }) });
    expect(error).toBeUndefined();
    expect(value[key].length).toBeLessThanOrEqual(limit);
    rows.push(...value[key]);
    cursor = value.next_cursor;
    if (cursor === null) return rows;
    // Every page except the last must be full.
    expect(value[key]).toHaveLength(limit);
  }
}

describe(`the view of each user, in ${WORLDS} random data sets (seed ${SEED})`, () => {
  it(
    'matches the model, for every tool, user and filter',
    async () => {
      await fc.assert(
        fc.asyncProperty(randomTenant, randomTenant, queries, async (one, other, argumentSets) => {
          // Two organizations with the same ids, names and e-mails.
          const tenants: [string, Tenant][] = [
            [tenant('one'), one],
            [tenant('other'), other],
          ];
          for (const [organization, of] of tenants) {
            await world.load(records(organization, of));
            await shareUserIds(organization);
          }
          const views = tenants.flatMap(([organization, of]) => USERS.map((user) => ({ organization, of, user })));
          await Promise.all(
            views.map(async ({ organization, of, user }) => {
              await compare(await connect(organization, user), new Oracle(of, user), argumentSets);
            }),
          );
        }),
        { numRuns: WORLDS, seed: SEED, endOnFailure: true },
      );
    },
    WORLDS * 30_000,
  );

  it.runIf(process.env['CRS_TEST_SEED'] === undefined)(
    'was compared with every filter and every combination of reasons to see a project',
    () => {
      expect([...covered.filters].toSorted()).toEqual([...Object.keys(FILTERS), 'project_id'].toSorted());
      expect(covered.reasons.size).toBe(8);
    },
  );
});

async function compare(tools: Tools, oracle: Oracle, argumentSets: Filters[]): Promise<void> {
  for (const [n, args] of argumentSets.entries()) {
    const rows = await readAll(tools, 'list_calls', 'calls', args, 1 + (n % 7));
    expect(rows, JSON.stringify(args)).toEqual(oracle.calls(args));
    const [filter, ...others] = Object.keys(args).filter((name) => name !== 'scope');
    const isSelective = rows.length > 0 && rows.length < oracle.calls({ scope: args.scope ?? 'mine' }).length;
    if (filter !== undefined && others.length === 0 && isSelective) covered.filters.add(filter);
  }
  const visible = new Set(oracle.calls({ scope: 'all' }).map(({ id }) => id));
  for (const id of Oracle.callIds) {
    const expected = oracle.call(id);
    const { value, error } = await tools('get_call', { call_id: id, include_transcript: true });
    expect(expected !== undefined, id).toBe(visible.has(id));
    expect(error?.code, id).toBe(expected ? undefined : 'not_found');
    if (expected)
      expect([value.id, value.notes, value.expert, value.transcript]).toEqual([
        id,
        expected.note,
        expected.expert,
        expected.transcript,
      ]);
  }
  for (const scope of ['mine', 'all'] as const) {
    for (const archived of [false, true]) {
      const args = { scope, include_archived: archived };
      expect(await readAll(tools, 'list_projects', 'projects', args, 2)).toEqual(oracle.projects(scope, archived));
    }
  }
  for (const id of PROJECTS) {
    covered.reasons.add(oracle.reasons(id));
    for (const type of [undefined, 'company']) {
      const args = { project_id: id.toUpperCase(), ...(type !== undefined && { type }) };
      if (!oracle.sees(id)) {
        expect((await tools('list_entities', args)).error?.code, id).toBe('not_found');
        continue;
      }
      const rows = (await readAll(tools, 'list_entities', 'entities', args, 3)) as {
        id: string;
        name: string;
        type: string;
        created_at: string;
      }[];
      expect(rows.map(({ id: entity, name, type: kind, created_at }) => ({ id: entity, name, type: kind, created_at }))).toEqual(
        oracle.entities(id, type),
      );
    }
  }
}
