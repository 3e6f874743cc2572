import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import type { Migration } from '@crs/kit/data/migration';

const AT_ONCE = 10_000;

/** Gives each call that is stored a place in its organization's feed. */
export const placeStoredCalls: Migration = {
  name: '20261122T071000-place-stored-calls',

  async up(db: Knex) {
    const { rows } = await db.raw<{ rows: { organization: string }[] }>('select distinct organization from calls.call_days');
    for (const { organization } of rows) await placeCalls(db, organization);
  },

  async down(db: Knex) {
    await db.raw('delete from calls.changes');
    await db.raw('delete from calls.feeds');
  },
};

/** In bounded steps, by id. Each takes its places as the service does. */
async function placeCalls(db: Knex, organization: string): Promise<void> {
  for (let after = ''; ;) {
    const { rows: calls } = await db.raw<{ rows: { call_id: string }[] }>(
      'select call_id from calls.calls where organization = ? and call_id > ? order by call_id limit ?',
      [organization, after, AT_ONCE],
    );
    if (calls.length === 0) return;
    const last = calls.at(-1)!.call_id;
    const { rows: feeds } = await db.raw<{ rows: { place: string }[] }>(
      `insert into calls.feeds (organization, secret, place) values (?, ?, ?)
        on conflict (organization) do update set place = calls.feeds.place + excluded.place returning place`,
      [organization, randomBytes(32), calls.length],
    );
    await db.raw(
      `insert into calls.changes (organization, call_id, place, changed_at, deleted)
        select organization, call_id, ?::bigint + row_number() over (order by call_id), updated_at, false
        from calls.calls where organization = ? and call_id > ? and call_id <= ?
        on conflict do nothing`,
      [Number(feeds[0]!.place) - calls.length, organization, after, last],
    );
    after = last;
  }
}
