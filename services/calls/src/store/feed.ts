import { randomBytes } from 'node:crypto';
import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { FORGOTTEN, ROWS_AT_ONCE } from '@crs/kit/data/delete-next';
import { upsert } from '@crs/kit/data/upsert';
import { countDeleted } from '@crs/records/count-deleted';

/** A call that a transaction has changed or deleted. */
interface Moved {
  callId: string;
  /** The call's `updatedAt`, or the time of the deletion. */
  changedAt: Date;
  deleted: boolean;
}

const KEEP_DELETIONS_MS = 30 * 86_400_000;

const PLACE = { place: column.bigint };

const putEntries = upsert<Moved & { place: string }>({
  name: 'put_changes',
  table: 'calls.changes',
  key: 'callId',
  columns: { callId: column.text, place: column.bigint, changedAt: column.instant, deleted: column.boolean },
});

/**
 * Gives each moved call the next place in the organization's feed, and forgets some deletions of more than 30 days ago. It has to be the
 * last work of the transaction: from its first statement on, other transactions that change calls of the organization wait for the commit.
 */
export async function placeChanges(query: Query, organization: string, moved: readonly Moved[], now: Date): Promise<void> {
  if (moved.length === 0) return;
  await query(limitLockWait());
  const [last] = await query({
    name: 'take_places',
    row: PLACE,
    text: `insert into calls.feeds (organization, secret, place) values ($1, $2, $3)
      on conflict (organization) do update set place = feeds.place + excluded.place returning place`,
    values: [organization, newSecret(), moved.length],
  });
  const first = Number(last!.place) - moved.length + 1;
  await query(
    putEntries(
      organization,
      moved.map((call, i) => ({ ...call, place: String(first + i) })),
    ),
  );
  const [done] = await query(forgetDeletions(organization, now));
  countDeleted('deletions', done?.forgotten ?? 0);
}

/**
 * Imports and erasures of an organization hold a lock of their own before they come here. So whoever else holds the row of the feed is a transaction
 * that was prepared or left open, and nothing is gained by waiting for as long as the caller does.
 */
function limitLockWait(): Statement {
  return { name: 'limit_lock_wait', text: `set local lock_timeout = '5s'` };
}

/** Takes the oldest deletions first. Where one is forgotten, a cursor before its place may have missed it. No row: none is old enough. */
export function forgetDeletions(organization: string, now: Date): Statement<column.RowOf<typeof FORGOTTEN>> {
  return {
    name: 'forget_deletions',
    row: FORGOTTEN,
    text: `with oldest as (
        select call_id, place, changed_at from calls.changes where organization = $1 and deleted order by place limit ${ROWS_AT_ONCE}
      ),
      old as (select call_id, place from oldest where changed_at < $2),
      forgotten as (delete from calls.changes c using old where c.organization = $1 and c.call_id = old.call_id)
      update calls.feeds set forgotten = greatest(forgotten, (select max(place) from old))
      where organization = $1 and exists (select from old)
      returning (select count(*)::integer from old) as forgotten`,
    values: [organization, new Date(now.getTime() - KEEP_DELETIONS_MS)],
  };
}

const SECRET = { secret: column.bytes };

/** The secret of the organization's feed; no row where nothing has begun the feed yet. */
export function findFeedSecret(organization: string): Statement<column.RowOf<typeof SECRET>> {
  return {
    name: 'find_feed_secret',
    row: SECRET,
    text: 'select secret from calls.feeds where organization = $1',
    values: [organization],
  };
}

/** Begins the feed of an organization that has none. */
export function beginFeed(organization: string): Statement {
  return {
    name: 'begin_feed',
    text: 'insert into calls.feeds (organization, secret, place) values ($1, $2, 0) on conflict do nothing',
    values: [organization, newSecret()],
  };
}

function newSecret(): Buffer {
  return randomBytes(32);
}
