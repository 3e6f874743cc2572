import { lockWaiter } from '@crs/testing/hold';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { openSession } from '@crs/testing/sql';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALL, recordsOfTypes, uuid, type RecordsOfTypes } from './_types.ts';

let system: RecordsOfTypes;
let stop: () => void;
beforeAll(async () => {
  system = await recordsOfTypes();
  // A busy machine may hold the lock for longer than the 5 s that a service waits.
  stop = interceptStatements((statement) =>
    statement.name === 'limit_lock_wait'
      ? { ...statement, name: 'limit_lock_wait_long', text: `set local lock_timeout = '60s'` }
      : statement,
  );
});
afterAll(() => stop());

it.each([
  ['project', 'projects'],
  ['entity', 'entities'],
  ['call', 'calls'],
] as const)('a transaction that has a position in the feed of type %s holds back later ones', async (type, service) => {
  const [organization, twin] = [await system.createTenant(), await system.createTenant()];
  for (const each of [organization, twin]) {
    await system.project(each, 1);
    await system.entity(each, 1);
    await system.call(each, 'a');
  }
  const add = (to: string) => (type === 'call' ? system.call(to, 'b') : system[type](to, 2));
  const { cursor } = await system.follow(organization, { types: ALL });
  const { cursor: twinCursor } = await system.follow(twin, { types: ALL });
  const holder = await openSession(system.world.databaseUrl);
  try {
    await holder.query('begin');
    const [head] = await holder.query<{ position: string }>(
      `update ${service}.feeds set position = position + 1 where organization = $1 returning position`,
      [organization],
    );
    await holder.query(`insert into ${service}.changes values ($1, $2, $3, now(), true)`, [
      organization,
      type === 'call' ? 'held' : uuid(8),
      head!.position,
    ]);
    const added = add(organization);
    await lockWaiter(system.world.databaseUrl, `crs-${service}-import`);
    expect((await system.follow(organization, { types: ALL, cursor })).summaries).toEqual([]);
    // The other organization has a feed of its own.
    await add(twin);
    const changed = `${type}.changed ${type === 'call' ? 'b' : '2'}`;
    expect((await system.follow(twin, { types: ALL, cursor: twinCursor })).summaries).toEqual([changed]);
    await holder.query('commit');
    await added;
    expect((await system.follow(organization, { types: ALL, cursor })).summaries).toEqual([
      `${type}.deleted ${type === 'call' ? 'held' : '8'}`,
      changed,
    ]);
  } finally {
    await holder.close();
  }
});
