import { client, type CallOptions, type ServiceClient } from '@crs/kit/rpc/client';
import { EntitiesServiceService } from '@crs/proto/crs/entities/v1/entities';
import { exportLines } from '@crs/testing/export';
import { declaredStatements, withoutPredicates, type StrippedStatements } from '@crs/testing/without-predicates';
import { userToken } from '@crs/testing/user-token';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

/** These statements have no predicate on the organization, as they insert rows of it. */
const WITHOUT_PREDICATE = ['put_entities'];
const TENANTS = ['acme', 'globex'] as const;
const ANN = 'ann@crs.example';
const PROJECT = '00000000-0000-4000-8000-00000000000a';
const SAME = '11111111-0000-4000-8000-000000000001';
const GONE = '11111111-0000-4000-8000-000000000002';
const only = (tenant: string) => `11111111-0000-4000-8000-00000000000${tenant === 'acme' ? 'a' : 'b'}`;

let stripped: StrippedStatements;
let world: OwnWorld;
let entities: ServiceClient<EntitiesServiceService>;
const anns = new Map<string, CallOptions>();
beforeAll(async () => {
  stripped = withoutPredicates('entities');
  world = await startWorld();
  entities = client(EntitiesServiceService, {
    name: 'entities',
    address: world.stack.addresses.entities,
    timeoutMs: 5_000,
    retry: false,
  });
  for (const organization of TENANTS) {
    await world.load([
      { type: 'organization', id: organization },
      { type: 'user', organization, email: ANN },
      { type: 'project', organization, id: PROJECT, created_by: ANN },
    ]);
    anns.set(organization, await userToken(world, organization, ANN));
  }
});
afterAll(async () => {
  stripped?.stop();
  entities?.close();
  await world?.close();
});
beforeEach(async () => {
  await world.query('truncate entities.entities');
  for (const id of TENANTS) await store(id);
});

const entity = (organization: string, id: string, name = organization) => ({
  type: 'entity',
  organization,
  project_id: PROJECT,
  id,
  name,
});
const gone = (organization: string, id: string) => ({ type: 'entity', organization, id, deleted: true });
const store = (tenant: string) => world.load([SAME, GONE, only(tenant)].map((id) => entity(tenant, id)));
const everything = async (tenant: string) =>
  JSON.stringify(
    (await world.query('select * from entities.entities where organization = $1 order by entity_id', [tenant])).rows,
  );

/** Runs every operation on the table. @returns the operations that read or changed rows of another organization */
async function leaks(): Promise<Set<string>> {
  const found = new Set<string>();
  for (const own of TENANTS) {
    const other = TENANTS.find((id) => id !== own)!;
    const before = await everything(other);
    const first = await entities.listUserEntities(
      { projectId: PROJECT, type: undefined, after: undefined, limit: 1 },
      anns.get(own),
    );
    const rest = await entities.listUserEntities(
      { projectId: PROJECT, type: undefined, after: first.next, limit: 50 },
      anns.get(own),
    );
    const shown = [...first.entities, ...rest.entities];
    if (shown.length !== 3 || shown.some(({ name }) => name !== own)) found.add('list');
    const exported = (await exportLines(world.operator, own)) as { type: string; name: string }[];
    const names = exported.filter(({ type }) => type === 'entity').map(({ name }) => name);
    if (names.length !== 3 || names.some((name) => name !== own)) found.add('export');
    const lines = [
      entity(own, SAME),
      entity(own, SAME, 'changed'),
      gone(own, GONE),
      gone(own, only(other)),
      entity(own, only(own)),
    ];
    const answer = await world.tryLoad(lines).catch(() => undefined);
    if (answer?.accepted !== 2 || answer.unchanged !== 3 || (await everything(other)) !== before) found.add('import');
    for (const target of [
      { $case: 'projectId', value: PROJECT },
      { $case: 'organization', value: true },
    ] as const) {
      await world.operator.erasers.entities.erase({ target }, await world.operator.operator(own));
      if ((await everything(other)) !== before) found.add('erasure');
    }
    await store(own);
  }
  return found;
}

describe('without the predicate on the organization in any statement', () => {
  it('no operation reads or changes rows of another organization', async () => {
    expect(await leaks()).toEqual(new Set());
  });

  it('every statement of the service was sent', async () => {
    await leaks();
    const declared = declaredStatements(new URL('../src/store/', import.meta.url));
    for (const name of declared)
      expect(stripped.sent.get(name), `${name} was sent, rewritten`).toBe(!WITHOUT_PREDICATE.includes(name));
    expect([...stripped.sent.keys()].filter((name) => name !== 'lock_imports' && !declared.includes(name))).toEqual([]);
  });

  it('the operations leak once row-level security is off', async () => {
    await world.query('alter table entities.entities disable row level security');
    try {
      expect(await leaks()).toEqual(new Set(['list', 'export', 'import', 'erasure']));
    } finally {
      await world.query('alter table entities.entities enable row level security');
    }
  });
});
