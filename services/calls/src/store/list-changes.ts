import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { callParameters, DETAILS, detailsSql, type Seen } from './details.ts';

const ENTRY = {
  /** The feed's secret. */
  secret: column.bytes,
  /** The feed's last position. */
  head: column.bigint,
  /** The highest position of a pruned deletion. */
  pruned: column.bigint,
  /** Null, as the columns below are, in the one row of an empty page. */
  callId: column.text.orNull,
  position: column.bigint.orNull,
  changedAt: column.timestamp.orNull,
  deleted: column.boolean.orNull,
};
const ENTRY_WITH_DETAIL = { ...ENTRY, ...DETAILS, nameSecret: column.bytes.orNull };

export type EntryRow = column.RowOf<typeof ENTRY>;
export type EntryWithDetailRow = column.RowOf<typeof ENTRY_WITH_DETAIL>;

/** `$1` organization, `$2` `after`, `$3` `deletedAfter`, `$4` limit. */
const PAGE = `
  with live as (
    select call_id, position, changed_at, deleted from calls.changes where organization = $1 and not deleted and position > $2
    order by position limit $4
  ),
  gone as (
    select call_id, position, changed_at, deleted from calls.changes where organization = $1 and deleted and position > $3
    order by position limit $4
  ),
  page as (select * from (select * from live union all select * from gone) either order by position limit $4)`;
const COLUMNS =
  'f.secret, f.position as head, f.pruned, m.call_id as "callId", m.position, m.changed_at as "changedAt", m.deleted';
const FEED = 'from calls.feeds f';
const OF_ORGANIZATION = 'where f.organization = $1 order by m.position';

const DETAILS_OF_PAGE = detailsSql('positions', 5, 'read the first');
const ENTRIES = `${PAGE} select ${COLUMNS} ${FEED} left join page m on true ${OF_ORGANIZATION}`;
const ENTRIES_WITH_DETAILS = `${PAGE},
  positions as (select case when not deleted then call_id end as call_id, call_id as changed, position, changed_at, deleted from page),
  ${DETAILS_OF_PAGE.measured}
  select ${COLUMNS.replace('m.call_id', 'm.changed')}, ${DETAILS_OF_PAGE.columns},
    (select secret from calls.name_secrets where organization = $1) as "nameSecret"
  ${FEED} left join measured m on true ${OF_ORGANIZATION}`;

interface FeedPage {
  /** The position after which changed calls are listed. */
  after: number;
  /** The position after which deletions are listed. */
  deletedAfter: number;
  limit: number;
}

/** Lists a page of an organization's feed by position, and the state of the feed in the same snapshot. Without a feed, returns no row. */
export function listChanges(organization: string, { after, deletedAfter, limit }: FeedPage): Statement<EntryRow> {
  return {
    name: 'list_changes',
    row: ENTRY,
    text: ENTRIES,
    values: [organization, after, deletedAfter, limit],
    plannedOnce: true,
  };
}

/** Lists the same page with details. */
export function listChangesWithDetails(
  organization: string,
  { after, deletedAfter, limit }: FeedPage,
  seen: Seen,
): Statement<EntryWithDetailRow> {
  return {
    name: 'list_changes_with_details',
    row: ENTRY_WITH_DETAIL,
    text: ENTRIES_WITH_DETAILS,
    values: [organization, after, deletedAfter, limit, ...callParameters(seen)],
    plannedOnce: true,
  };
}
