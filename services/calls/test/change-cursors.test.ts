import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { openSession } from '@crs/testing/sql';
import { beforeAll, describe, expect, it } from 'vitest';
import { FULL, feeds, type Feeds } from './_feed.ts';

let feed: Feeds;
beforeAll(async () => {
  feed = await feeds();
});

describe('settings', () => {
  it('that change begin the walk again, and no page shows an old field afterwards', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a', 'b', 'c'], FULL);
    const { cursor } = await feed.follow(organization);
    const first = await feed.changes(organization, { expand: 'detail', limit: 1 });
    expect(first.text).toContain('Short.');
    await feed.world.load([
      { type: 'organization', id: organization, allowed_fields: ['interviewee.name'], anonymize_interviewees: true },
    ]);
    for (const begun of [cursor, first.json.next_cursor as string]) {
      const { seen, said } = await feed.follow(organization, { cursor: begun, expand: 'detail', limit: 2 });
      expect(said).toEqual(['access.changed null', 'call.changed a', 'call.changed b', 'call.changed c']);
      expect(JSON.stringify(seen)).not.toMatch(/Short|Eva Muster/i);
      expect(JSON.stringify(seen)).toContain('Expert ');
      expect(Math.abs(Date.parse(seen[0]!.changed_at) - Date.now())).toBeLessThan(60_000);
    }
    const { json } = await feed.changes(organization, { cursor, limit: 1 });
    expect([json.data.length, json.data[0].type, json.has_more]).toEqual([1, 'access.changed', true]);
    expect((await feed.follow(organization, { cursor: json.next_cursor, limit: 1 })).said).toHaveLength(3);
  });

  it('that change nothing of a call, or stay as they are, tell nothing', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a']);
    const { cursor } = await feed.follow(organization);
    await feed.world.load([
      { type: 'organization', id: organization, name: 'Other', write_surface: true, allowed_fields: ALLOWED_FIELDS },
    ]);
    expect((await feed.follow(organization, { cursor })).said).toEqual([]);
    await feed.world.load([{ type: 'organization', id: organization, allowed_fields: null }]);
    await feed.world.load([{ type: 'organization', id: organization, allowed_fields: ALLOWED_FIELDS }]);
    expect((await feed.follow(organization, { cursor })).said).toEqual(['access.changed null', 'call.changed a']);
  });

  it('that another replica knew when it answered are asked for', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a']);
    const setVersion = (version: number) =>
      feed.world.query('update auth.organizations set settings_version = $2 where organization = $1', [organization, version]);
    await setVersion(2);
    const { cursor } = await feed.follow(organization);
    await setVersion(1);
    const saidFirst = async () => (await feed.follow(organization, { cursor })).said[0];
    await expect.poll(saidFirst).toBe('access.changed null');
    // For a moment, the service uses its answer about version 1 again.
    await setVersion(2);
    expect(await saidFirst()).toBeUndefined();
  });

  it('that change keep deletions that the follower was not told of', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a', 'b', 'c']);
    await feed.remove(organization, ['c']);
    const { cursor } = await feed.follow(organization);
    await feed.remove(organization, ['a']);
    await feed.world.load([{ type: 'organization', id: organization, allowed_fields: [] }]);
    expect((await feed.follow(organization, { cursor, limit: 1 })).said).toEqual([
      'access.changed null',
      'call.changed b',
      'call.deleted a',
    ]);
  });
});

describe('a cursor', () => {
  const REFUSAL = /^400 cursor: can't be used: .* Begin again without it/;
  const tried = async (organization: string, cursor: string) => {
    const { status, json } = await feed.changes(organization, { cursor });
    return `${status} ${json.error?.message}`;
  };

  it('of another organization, or changed, is refused', async () => {
    const [own, other] = [await feed.createTenant(), await feed.createTenant()];
    for (const organization of [own, other]) await feed.store(organization, ['a']);
    const { cursor } = await feed.follow(own);
    expect(await tried(other, cursor)).toMatch(REFUSAL);
    for (const changed of [cursor.slice(1), `${cursor}A`, cursor.replace(/.$/, '!'), 'x', 'x'.repeat(1000)]) {
      expect(await tried(own, changed)).toMatch(REFUSAL);
    }
    expect(await tried(own, 'x'.repeat(1001))).toBe('400 cursor: must be a `next_cursor` of an earlier answer');
  });

  it('works with each key of the organization, and with a read-only one', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a']);
    const { cursor } = await feed.follow(organization);
    feed.keys.set(organization, await feed.world.createKey(organization, { readOnly: true }));
    expect((await feed.follow(organization, { cursor })).said).toEqual([]);
  });

  it('is refused once the organization was made anew, or the database was restored', async () => {
    const organization = await feed.createTenant();
    const empty = await feed.follow(organization);
    await feed.erase(organization, { $case: 'organization', value: true });
    expect(await tried(organization, empty.cursor)).toMatch(REFUSAL);
    await feed.store(organization, ['a']);
    expect(await tried(organization, empty.cursor)).toMatch(REFUSAL);
    const { cursor } = await feed.follow(organization);
    await feed.world.query(`update calls.feeds set secret = sha256(secret) where organization = $1`, [organization]);
    expect(await tried(organization, cursor)).toMatch(REFUSAL);
    expect((await feed.follow(organization)).said).toEqual(['call.changed a']);
  });

  it('is refused once a deletion is forgotten that its follower may have missed', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a', 'b', 'c', 'd']);
    const before = await feed.changes(organization, { limit: 1 });
    const whole = await feed.follow(organization);
    await feed.remove(organization, ['a']);
    const after = await feed.follow(organization, { cursor: whole.cursor });
    const begun = await feed.changes(organization, { limit: 1 });
    const age = (days: number) =>
      feed.world.query(
        `update calls.changes set changed_at = now() - interval '1 day' * $2 where organization = $1 and deleted`,
        [organization, days],
      );
    await age(29.9);
    await feed.store(organization, ['b'], { summary: 'moves' });
    expect((await feed.follow(organization, { cursor: whole.cursor })).said).toEqual(['call.deleted a', 'call.changed b']);
    await age(30.1);
    await feed.store(organization, ['b'], { summary: 'forgets' });
    expect(await tried(organization, before.json.next_cursor)).toMatch(REFUSAL);
    expect(await tried(organization, whole.cursor)).toMatch(REFUSAL);
    expect((await feed.follow(organization, { cursor: after.cursor })).said).toEqual(['call.changed b']);
    // This walk began after the deletion, so its own place doesn't matter.
    expect((await feed.follow(organization, { cursor: begun.json.next_cursor })).said).toEqual([
      'call.changed c',
      'call.changed d',
      'call.changed b',
    ]);
  });
});

describe('deletions of an organization in which nothing changes any more', () => {
  it.each([
    [29.9, 2_001],
    [30.1, 0],
  ])('after %d days: %d are kept once a follower has read everything', async (days, kept) => {
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
    expect((await feed.follow(organization)).said).toEqual(['call.changed b']);
    const { rows } = await feed.world.query('select count(*)::int as n from calls.changes where organization = $1 and deleted', [
      organization,
    ]);
    expect(rows[0].n).toBe(kept);
    const again = await feed.follow(organization);
    expect((await feed.follow(organization, { cursor: again.cursor })).said).toEqual([]);
  });
});

it('while another transaction holds the feed, an import is refused after five seconds, and works afterwards', async () => {
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
    expect((await feed.follow(held)).said).toEqual(['call.changed a']);
  } finally {
    stop();
    await holder.close();
  }
  expect(new Set(limits)).toEqual(new Set([`set local lock_timeout = '5s'`]));
  await feed.store(held, ['b']);
  expect((await feed.follow(held)).said).toEqual(['call.changed a', 'call.changed b']);
});
