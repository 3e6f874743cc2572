import { randomBytes } from 'node:crypto';
import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { PRUNED, ROWS_AT_ONCE } from '@crs/kit/data/delete-next';
import { upsert } from '@crs/kit/data/upsert';
import { countDeleted } from '@crs/records/count-deleted';

/** A call that a transaction changed or deleted. */
interface Moved {
  callId: string;
  /** The call's new `updatedAt`, or the time of the deletion. */
  changedAt: Date;
  deleted: boolean;
}

const KEEP_DELETIONS_MS = 30 * 86_400_000;

const POSITION = { position: column.bigint };

const putEntries = upsert<Moved & { position: string }>({
  name: 'put_changes',
  table: 'calls.changes',
  key: 'callId',
  columns: { callId: column.text, position: column.bigint, changedAt: column.timestamp, deleted: column.boolean },
});

/**
 * Appends each call to the organization's feed at the next position, and prunes some deletions that are more than 30 days old. Must be the
 * transaction's last work, because it blocks other changes of the organization's calls until the commit.
 */
export async function appendChanges(query: Query, organization: string, moved: readonly Moved[], now: Date): Promise<void> {
  if (moved.length === 0) return;
  await query(limitLockWait());
  const [last] = await query({
    name: 'take_places',
    row: POSITION,
    text: `insert into calls.feeds (organization, secret, position) values ($1, $2, $3)
      on conflict (organization) do update set position = feeds.position + excluded.position returning position`,
    values: [organization, newSecret(), moved.length],
  });
  const first = Number(last!.position) - moved.length + 1;
  await query(
    putEntries(
      organization,
      moved.map((call, i) => ({ ...call, position: String(first + i) })),
    ),
  );
  const [done] = await query(pruneDeletions(organization, now));
  countDeleted('deletions', done?.pruned ?? 0);
}

/**
 * Imports and erasures hold the organization's import lock at this point. So only a prepared or abandoned transaction can hold the feed's row, and
 * waiting until the caller's deadline would gain nothing.
 */
function limitLockWait(): Statement {
  return { name: 'limit_lock_wait', text: `set local lock_timeout = '5s'` };
}

/** Prunes the oldest deletions. A cursor before a pruned position is no longer valid. Returns no row if none is old enough. */
export function pruneDeletions(organization: string, now: Date): Statement<column.RowOf<typeof PRUNED>> {
  return {
    name: 'forget_deletions',
    row: PRUNED,
    text: `with oldest as (
        select call_id, position, changed_at from calls.changes where organization = $1 and deleted order by position limit ${ROWS_AT_ONCE}
      ),
      old as (select call_id, position from oldest where changed_at < $2),
      pruned as (delete from calls.changes c using old where c.organization = $1 and c.call_id = old.call_id)
      update calls.feeds set pruned = greatest(pruned, (select max(position) from old))
      where organization = $1 and exists (select from old)
      returning (select count(*)::integer from old) as pruned`,
    values: [organization, new Date(now.getTime() - KEEP_DELETIONS_MS)],
  };
}

const SECRET = { secret: column.bytes };

/** Finds the secret of the organization's feed. Returns no row if it has no feed yet. */
export function findFeedSecret(organization: string): Statement<column.RowOf<typeof SECRET>> {
  return {
    name: 'find_feed_secret',
    row: SECRET,
    text: 'select secret from calls.feeds where organization = $1',
    values: [organization],
  };
}

export function beginFeed(organization: string): Statement {
  return {
    name: 'begin_feed',
    text: 'insert into calls.feeds (organization, secret, position) values ($1, $2, 0) on conflict do nothing',
    values: [organization, newSecret()],
  };
}

function newSecret(): Buffer {
  return randomBytes(32);
}
