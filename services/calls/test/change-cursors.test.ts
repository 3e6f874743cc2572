import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { openSession } from '@crs/testing/sql';
import { beforeAll, describe, expect, it } from 'vitest';
import { FULL, feeds, type Feeds } from './_feed.ts';

let feed: Feeds;
beforeAll(async () => {
  feed = await feeds();
});

describe('a change of settings', () => {
  it('restarts the feed for existing cursors, and no later page shows a field that is now hidden', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a', 'b', 'c'], FULL);
    const { cursor } = await feed.follow(organization);
    const first = await feed.changes(organization, { expand: 'detail', limit: 1 });
    expect(first.text).toContain('Short.');
    await feed.world.load([
      { type: 'organization', id: organization, allowed_fields: ['interviewee.name'], anonymize_interviewees: true },
    ]);
    for (const oldCursor of [cursor, first.json.next_cursor as string]) {
      const { seen, summaries } = await feed.follow(organization, { cursor: oldCursor, expand: 'detail', limit: 2 });
      expect(summaries).toEqual(['access.changed null', 'call.changed a', 'call.changed b', 'call.changed c']);
      expect(JSON.stringify(seen)).not.toMatch(/Short|Eva Muster/i);
      expect(JSON.stringify(seen)).toContain('Expert ');
      expect(Math.abs(Date.parse(seen[0]!.changed_at) - Date.now())).toBeLessThan(60_000);
    }
    const { json } = await feed.changes(organization, { cursor, limit: 1 });
    expect([json.data.length, json.data[0].type, json.has_more]).toEqual([1, 'access.changed', true]);
    expect((await feed.follow(organization, { cursor: json.next_cursor, limit: 1 })).summaries).toHaveLength(3);
  });

  it('is reported only if it changes how calls are shown', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a']);
    const { cursor } = await feed.follow(organization);
    await feed.world.load([
      { type: 'organization', id: organization, name: 'Other', write_surface: true, allowed_fields: ALLOWED_FIELDS },
    ]);
    expect((await feed.follow(organization, { cursor })).summaries).toEqual([]);
    await feed.world.load([{ type: 'organization', id: organization, allowed_fields: null }]);
    await feed.world.load([{ type: 'organization', id: organization, allowed_fields: ALLOWED_FIELDS }]);
    expect((await feed.follow(organization, { cursor })).summaries).toEqual(['access.changed null', 'call.changed a']);
  });

  it('that only another replica has seen is fetched from auth, and cursors of that replica stay valid', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a']);
    const setVersion = (version: number) =>
      feed.world.query('update auth.organizations set settings_version = $2 where organization = $1', [organization, version]);
    await setVersion(2);
    const { cursor } = await feed.follow(organization);
    await setVersion(1);
    const firstSummary = async () => (await feed.follow(organization, { cursor })).summaries[0];
    await expect.poll(firstSummary).toBe('access.changed null');
    // The service may still have version 1 in its cache, which is older than that of the cursor.
    await setVersion(2);
    expect(await firstSummary()).toBeUndefined();
  });

  it('keeps deletions that the follower has not seen yet', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a', 'b', 'c']);
    await feed.remove(organization, ['c']);
    const { cursor } = await feed.follow(organization);
    await feed.remove(organization, ['a']);
    await feed.world.load([{ type: 'organization', id: organization, allowed_fields: [] }]);
    expect((await feed.follow(organization, { cursor, limit: 1 })).summaries).toEqual([
      'access.changed null',
      'call.changed b',
      'call.deleted a',
    ]);
  });
});

describe('a cursor', () => {
  const REFUSAL = /^400 cursor: can't be used: .* Begin again without it/;
  const statusOf = async (organization: string, cursor: string) => {
    const { status, json } = await feed.changes(organization, { cursor });
    return `${status} ${json.error?.message}`;
  };

  it('of another organization, or one that was tampered with, is refused', async () => {
    const [own, other] = [await feed.createTenant(), await feed.createTenant()];
    for (const organization of [own, other]) await feed.store(organization, ['a']);
    const { cursor } = await feed.follow(own);
    expect(await statusOf(other, cursor)).toMatch(REFUSAL);
    for (const changed of [cursor.slice(1), `${cursor}A`, cursor.replace(/.$/, '!'), 'x', 'x'.repeat(1000)]) {
      expect(await statusOf(own, changed)).toMatch(REFUSAL);
    }
    expect(await statusOf(own, 'x'.repeat(1001))).toBe('400 cursor: must be a `next_cursor` of an earlier answer');
  });

  it('works with any key of the organization, including a read-only key', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a']);
    const { cursor } = await feed.follow(organization);
    feed.keys.set(organization, await feed.world.createKey(organization, { rights: ['read'] }));
    expect((await feed.follow(organization, { cursor })).summaries).toEqual([]);
  });

  it('is refused after the organization was deleted and created again, or the database was restored', async () => {
    const organization = await feed.createTenant();
    const empty = await feed.follow(organization);
    await feed.erase(organization, { $case: 'organization', value: true });
    expect(await statusOf(organization, empty.cursor)).toMatch(REFUSAL);
    await feed.store(organization, ['a']);
    expect(await statusOf(organization, empty.cursor)).toMatch(REFUSAL);
    const { cursor } = await feed.follow(organization);
    await feed.world.query(`update calls.feeds set secret = sha256(secret) where organization = $1`, [organization]);
    expect(await statusOf(organization, cursor)).toMatch(REFUSAL);
    expect((await feed.follow(organization)).summaries).toEqual(['call.changed a']);
  });

  it('is refused once a deletion that its follower may have missed has been pruned', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a', 'b', 'c', 'd']);
    const before = await feed.changes(organization, { limit: 1 });
    const whole = await feed.follow(organization);
    await feed.remove(organization, ['a']);
    const after = await feed.follow(organization, { cursor: whole.cursor });
    const laterPass = await feed.changes(organization, { limit: 1 });
    const age = (days: number) =>
      feed.world.query(
        `update calls.changes set changed_at = now() - interval '1 day' * $2 where organization = $1 and deleted`,
        [organization, days],
      );
    await age(29.9);
    await feed.store(organization, ['b'], { summary: 'moves' });
    expect((await feed.follow(organization, { cursor: whole.cursor })).summaries).toEqual(['call.deleted a', 'call.changed b']);
    await age(30.1);
    await feed.store(organization, ['b'], { summary: 'forgets' });
    expect(await statusOf(organization, before.json.next_cursor)).toMatch(REFUSAL);
    expect(await statusOf(organization, whole.cursor)).toMatch(REFUSAL);
    expect((await feed.follow(organization, { cursor: after.cursor })).summaries).toEqual(['call.changed b']);
    // This pass began after the deletion, so it can't have missed it, although its position is lower.
    expect((await feed.follow(organization, { cursor: laterPass.json.next_cursor })).summaries).toEqual([
      'call.changed c',
      'call.changed d',
      'call.changed b',
    ]);
  });
});

describe('deletions in the feed of an organization without further changes', () => {
  it.each([
    [29.9, 2_001],
    [30.1, 0],
  ])('aged %d days: %d are left after a follower has read the feed', async (days, kept) => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a', 'b']);
    await feed.remove(organization, ['a']);
    await feed.world.query(
      `insert into calls.changes select $1, 'gone-' || n, n + 10, now(), true from generate_series(1, 2000) n`,
      [organization],
    );
    await feed.world.query('update calls.feeds set position = 2010 where organization = $1', [organization]);
    await feed.world.query(
      `update calls.changes set changed_at = now() - interval '1 day' * $2 where organization = $1 and deleted`,
      [organization, days],
    );
    expect((await feed.follow(organization)).summaries).toEqual(['call.changed b']);
    const { rows } = await feed.world.query('select count(*)::int as n from calls.changes where organization = $1 and deleted', [
      organization,
    ]);
    expect(rows[0].n).toBe(kept);
    const again = await feed.follow(organization);
    expect((await feed.follow(organization, { cursor: again.cursor })).summaries).toEqual([]);
  });
});

it('an import fails after waiting five seconds for a transaction that locks the feed, and succeeds once that has ended', async () => {
  const [held, other] = [await feed.createTenant(), await feed.createTenant()];
  await feed.store(held, ['a']);
  const holder = await openSession(feed.world.databaseUrl);
  const limits: string[] = [];
  const stop = interceptStatements((statement) => {
    if (statement.name !== 'limit_lock_wait') return statement;
    limits.push(statement.text);
    return { ...statement, name: 'limit_lock_wait_briefly', text: `set local lock_timeout = '100ms'` };
  });
  try {
    await holder.query('begin');
    await holder.query(`update calls.feeds set position = position where organization = '${held}'`);
    const refused = expect(feed.store(held, ['b'])).rejects.toMatchObject({ kind: 'aborted' });
    await feed.store(other, ['b']);
    await refused;
    expect((await feed.follow(held)).summaries).toEqual(['call.changed a']);
  } finally {
    stop();
    await holder.close();
  }
  expect(new Set(limits)).toEqual(new Set([`set local lock_timeout = '5s'`]));
  await feed.store(held, ['b']);
  expect((await feed.follow(held)).summaries).toEqual(['call.changed a', 'call.changed b']);
});
