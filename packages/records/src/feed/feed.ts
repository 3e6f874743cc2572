import { randomBytes } from 'node:crypto';
import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { deleteNext, PRUNED, ROWS_AT_ONCE } from '@crs/kit/data/delete-next';
import { upsert } from '@crs/kit/data/upsert';
import { countDeleted } from '../count-deleted.ts';
import { detailsSql, measuredColumns, type Measured, type Records } from './details.ts';
import type { FeedHeads } from './heads.ts';

/** A record that a transaction changed or deleted. */
export interface MovedRecord {
  recordId: string;
  /** When the transaction changed or deleted it. For a call, its `updatedAt`. */
  changedAt: Date;
  deleted: boolean;
}

export interface FeedPage {
  /** The position after which changed records are listed. */
  after: number;
  /** The position after which deletions are listed. */
  deletedAfter: number;
  limit: number;
}

const SECRET = { secret: column.bytes };
const POSITION = { position: column.bigint };
const FEED = {
  ...SECRET,
  /** The feed's last position. */
  head: column.bigint,
  /** The highest position of a pruned deletion. */
  pruned: column.bigint,
};
/** Null in the one row of an empty page. */
const ENTRY = { position: column.bigint.orNull, changedAt: column.timestamp.orNull, deleted: column.boolean.orNull };

export type EntryRow = column.RowOf<typeof FEED & typeof ENTRY> & { recordId: string | null };

const KEEP_DELETIONS_MS = 30 * 86_400_000;

/**
 * Returns the type of records in the feed, and the statements on the tables that `createFeed` creates.
 * @param heads records the last position for the webhook sender
 */
export function feedOf(service: string, type: 'call' | 'project' | 'entity', idType: column.Column<string>, heads?: FeedHeads) {
  const [feeds, changes] = [`${service}.feeds`, `${service}.changes`];
  const entry = { ...FEED, recordId: idType.orNull, ...ENTRY };

  const putEntries = upsert<MovedRecord & { position: string }>({
    name: 'put_changes',
    table: changes,
    key: 'recordId',
    columns: { recordId: idType, position: column.bigint, changedAt: column.timestamp, deleted: column.boolean },
  });

  /** Prunes the oldest deletions. A cursor before a pruned position is no longer valid. Returns no row if none is old enough. */
  const pruneDeletions = (organization: string, now: Date): Statement<column.RowOf<typeof PRUNED>> => ({
    name: 'forget_deletions',
    row: PRUNED,
    text: `with oldest as (
        select record_id, position, changed_at from ${changes} where organization = $1 and deleted order by position limit ${ROWS_AT_ONCE}
      ),
      old as (select record_id, position from oldest where changed_at < $2),
      pruned as (delete from ${changes} c using old where c.organization = $1 and c.record_id = old.record_id)
      update ${feeds} set pruned = greatest(pruned, (select max(position) from old))
      where organization = $1 and exists (select from old)
      returning (select count(*)::integer from old) as pruned`,
    values: [organization, new Date(now.getTime() - KEEP_DELETIONS_MS)],
  });

  /** `$1` organization, `$2` `after`, `$3` `deletedAfter`, `$4` limit. */
  const page = `
    with live as (
      select record_id, position, changed_at, deleted from ${changes} where organization = $1 and not deleted and position > $2
      order by position limit $4
    ),
    gone as (
      select record_id, position, changed_at, deleted from ${changes} where organization = $1 and deleted and position > $3
      order by position limit $4
    ),
    page as (select * from (select * from live union all select * from gone) either order by position limit $4)`;
  const columns = (id: string) =>
    `f.secret, f.position as head, f.pruned, m.${id} as "recordId", m.position, m.changed_at as "changedAt", m.deleted`;
  const ofOrganization = 'where f.organization = $1 order by m.position';
  const entries = `${page} select ${columns('record_id')} from ${feeds} f left join page m on true ${ofOrganization}`;

  return {
    service,
    type,
    pruneDeletions,
    eraseChanges: deleteNext({ name: 'erase_all_changes', table: changes, key: 'record_id' }),

    /**
     * Appends each record to the organization's feed at the next position, and prunes some deletions that are more than 30 days old. Must be the
     * transaction's last work, because it blocks other changes of the organization's records until the commit.
     */
    async append(query: Query, organization: string, moved: readonly MovedRecord[], now: Date): Promise<void> {
      if (moved.length === 0) return;
      await query(limitLockWait());
      const [last] = await query({
        name: 'take_places',
        row: POSITION,
        text: `insert into ${feeds} (organization, secret, position) values ($1, $2, $3)
          on conflict (organization) do update set position = feeds.position + excluded.position returning position`,
        values: [organization, newSecret(), moved.length],
      });
      if (heads) await query(heads.put(organization, last!.position, now));
      const first = Number(last!.position) - moved.length + 1;
      await query(
        putEntries(
          organization,
          moved.map((record, i) => ({ ...record, position: String(first + i) })),
        ),
      );
      const [done] = await query(pruneDeletions(organization, now));
      countDeleted('deletions', done?.pruned ?? 0);
    },

    /** Finds the secret of the organization's feed. Returns no row if it has no feed yet. */
    findSecret: (organization: string): Statement<column.RowOf<typeof SECRET>> => ({
      name: 'find_feed_secret',
      row: SECRET,
      text: `select secret from ${feeds} where organization = $1`,
      values: [organization],
    }),

    begin: (organization: string): Statement => ({
      name: 'begin_feed',
      text: `insert into ${feeds} (organization, secret, position) values ($1, $2, 0) on conflict do nothing`,
      values: [organization, newSecret()],
    }),

    /** Deletes the feed itself; `eraseChanges` deletes its entries. */
    erase: (organization: string): Statement => ({
      name: 'erase_feed',
      text: `delete from ${feeds} where organization = $1`,
      values: [organization],
    }),

    /** Lists a page of an organization's feed by position, and the state of the feed in the same snapshot. Without a feed, returns no row. */
    list: (organization: string, { after, deletedAfter, limit }: FeedPage): Statement<EntryRow> => ({
      name: 'list_changes',
      row: entry,
      text: entries,
      values: [organization, after, deletedAfter, limit],
      plannedOnce: true,
    }),

    /**
     * Returns a statement that lists the same page with the records in full.
     * @param further more columns of the organization `$1`, in SQL
     */
    withDetails<Row extends object, Further extends object>(
      records: Records<Row>,
      further: { columns: column.Columns<Further>; sql: string },
    ) {
      // The parameter `$5` is the maximum length of the details.
      const details = detailsSql(records, 'positions', 6, 'read the first', '$5::integer');
      const text = `${page},
        positions as (
          select case when not deleted then record_id end as record_id, record_id as changed, position, changed_at, deleted from page
        ),
        ${details.measured}
        select ${columns('changed')}, ${details.columns}${further.sql}
        from ${feeds} f left join measured m on true ${ofOrganization}`;
      const row = { ...entry, ...measuredColumns(records), ...further.columns } as column.Columns<
        EntryRow & Measured<Row> & Further
      >;
      return (
        organization: string,
        { after, deletedAfter, limit, maxBytes }: FeedPage & { maxBytes: number },
        parameters: readonly unknown[] = [],
      ): Statement<EntryRow & Measured<Row> & Further> => ({
        name: 'list_changes_with_details',
        row,
        text,
        values: [organization, after, deletedAfter, limit, maxBytes, ...parameters],
        plannedOnce: true,
      });
    },
  };
}

export type Feed = ReturnType<typeof feedOf>;

/**
 * Other writers hold the feed's row only for the end of their transaction. So a long wait means a prepared or abandoned transaction, and waiting until the
 * caller's deadline would gain nothing.
 */
function limitLockWait(): Statement {
  return { name: 'limit_lock_wait', text: `set local lock_timeout = '5s'` };
}

function newSecret(): Buffer {
  return randomBytes(32);
}
