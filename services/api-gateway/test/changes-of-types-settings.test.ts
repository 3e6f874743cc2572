import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { ALL, recordsOfTypes, uuid, type RecordsOfTypes } from './_types.ts';

const REFUSED = /^400 cursor: can't be used: .* Begin again without it/;
const SERVICES = { project: 'projects', entity: 'entities', call: 'calls' };

let system: RecordsOfTypes;
beforeAll(async () => {
  system = await recordsOfTypes();
});

async function filledTenant(): Promise<string> {
  const organization = await system.createTenant();
  await system.project(organization, 1);
  await system.entity(organization, 1, { description: 'Secret.', overview: 'Secret.' });
  await system.call(organization, 'a', { summary: 'Secret.' });
  return organization;
}

const outcomeOf = async (organization: string, cursor: string) => {
  const { status, json } = await system.changes(organization, { types: ALL, cursor });
  return `${status} ${json.error?.message}`;
};

describe('a change of settings', () => {
  it.each([1, 2, 100])('is listed once, and all records of all types follow again, with %i changes a page', async (limit) => {
    const organization = await filledTenant();
    const query = { types: ALL, limit, ...(limit <= 50 && { expand: 'detail' }) };
    const { cursor, seen } = await system.follow(organization, query);
    if (limit <= 50) expect(JSON.stringify(seen)).toContain('Secret.');
    const half = await system.changes(organization, { types: ALL, limit: 1 });
    await system.remove(organization, 'entity', uuid(1));
    await system.entity(organization, 2, { description: 'Secret.' });
    await system.world.load([{ type: 'organization', id: organization, allowed_fields: ['rating'] }]);
    for (const old of [cursor, half.json.next_cursor as string]) {
      const again = await system.follow(organization, { ...query, cursor: old });
      expect(again.summaries).toEqual([
        ...['access.changed', 'project.changed 1', 'entity.deleted 1', 'entity.changed 2', 'call.changed a'],
      ]);
      expect(JSON.stringify(again.seen)).not.toContain('Secret.');
      expect(again.seen[0]).toMatchObject({ type: 'access.changed', call_id: null });
      expect((await system.follow(organization, { ...query, cursor: again.cursor })).summaries).toEqual([]);
    }
  });

  it.each(Object.keys(SERVICES))('is listed once although the service of type %s learns of it last', async (last) => {
    const organization = await filledTenant();
    const setVersion = (version: number) =>
      system.world.query('update auth.organizations set settings_version = $2 where organization = $1', [organization, version]);
    await setVersion(2);
    const { cursor } = await system.follow(organization, { types: ALL });
    // By then, the settings that the services know have expired, except those of the last one.
    await sleep(100);
    await system.changes(organization, { types: last });
    await setVersion(3);
    expect((await system.follow(organization, { types: ALL, cursor, limit: 2 })).summaries).toEqual([
      ...['access.changed', 'project.changed 1', 'entity.changed 1', 'call.changed a'],
    ]);
  });
});

describe.each(Object.entries(SERVICES))('a cursor, because of the feed of type %s,', (type, service) => {
  it('is refused after the database was restored', async () => {
    const organization = await filledTenant();
    const { cursor } = await system.follow(organization, { types: ALL });
    await system.world.query(`update ${service}.feeds set secret = sha256(secret) where organization = $1`, [organization]);
    expect(await outcomeOf(organization, cursor)).toMatch(REFUSED);
    expect((await system.follow(organization, { types: ALL })).summaries).toHaveLength(3);
  });

  it('is refused once a deletion that its follower may have missed has been pruned', async () => {
    const organization = await filledTenant();
    const { cursor } = await system.follow(organization, { types: ALL });
    const id = type === 'call' ? 'a' : uuid(1);
    await system.remove(organization, type as keyof typeof SERVICES, id);
    const after = await system.follow(organization, { types: ALL, cursor });
    expect(after.summaries).toContain(`${type}.deleted ${type === 'call' ? 'a' : '1'}`);
    await system.world.query(
      `update ${service}.changes set changed_at = now() - interval '31 days' where organization = $1 and deleted`,
      [organization],
    );
    await system.world.query(`delete from ${service}.changes where organization = $1 and deleted`, [organization]);
    await system.world.query(`update ${service}.feeds set pruned = position where organization = $1`, [organization]);
    expect(await outcomeOf(organization, cursor)).toMatch(REFUSED);
    expect(await outcomeOf(organization, after.cursor)).toMatch(/^200/);
  });
});

it('nothing is missed although one type has more changes than fit into a page', async () => {
  const organization = await filledTenant();
  const { cursor } = await system.follow(organization, { types: ALL });
  for (let n = 10; n < 15; n++) await system.entity(organization, n);
  await system.call(organization, 'b');
  await system.project(organization, 7);
  const { summaries } = await system.follow(organization, { types: ALL, limit: 2, cursor });
  expect(summaries).toEqual([
    ...['project.changed 7', 'entity.changed 10', 'entity.changed 11', 'entity.changed 12', 'entity.changed 13'],
    ...['entity.changed 14', 'call.changed b'],
  ]);
});
