import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { detailsSql, measuredColumns } from '@crs/records/feed/details';
import { callParameters, CALLS, type Seen } from './details.ts';

const ROW = {
  /** Null, like `listItemJson`, in the single row of an empty page, which has only the total. */
  callId: column.text.orNull,
  listItemJson: column.text.orNull,
  total: column.integer,
};

const DETAIL_ROW = {
  ...measuredColumns(CALLS),
  /** Set even if the details were not read, because together they are too long for a page; null in the single row of an empty page. */
  callId: column.text.orNull,
  total: column.integer,
};

const LIST = 'c.call_id, c.created_at, c.list_item_json';
const ITEMS = 'page.call_id as "callId", page.list_item_json as "listItemJson"';
const NEWEST_FIRST = 'order by page.created_at desc, page.call_id desc';

/**
 * The range of creation times consists of a partial day at its newer end (from `$6`, before `$3`), whole UTC days (from `$4`, before `$5`), and a
 * partial day at its older end (from `$2`, before `$7`). `$1` is the organization, `$8` the page's limit, and `$9` the offset of a later page.
 */
const COUNTS = `
  newer as (select count(*)::int as calls from calls.calls where organization = $1 and created_at >= $6 and created_at < $3),
  older as (select count(*)::int as calls from calls.calls where organization = $1 and created_at >= $2 and created_at < $7)`;
const DAYS = `from calls.call_days where organization = $1 and day >= $4::date and day < $5::date`;

const FIRST_PAGE = `
  with ${COUNTS},
  total as (select (select calls from newer) + (select calls from older) + coalesce((select sum(calls) ${DAYS}), 0)::int as calls)
  select total.calls as total, ${ITEMS} from total left join (
    select ${LIST} from calls.calls c where organization = $1 and created_at >= $2 and created_at < $3
    order by created_at desc, call_id desc limit $8
  ) page on true
  ${NEWEST_FIRST}`;

const KEYS_OF_LATER_PAGE = `
  with ${COUNTS},
  -- \`upto\`: the calls of this day and of newer whole days.
  days as (select day, calls, sum(calls) over (order by day desc)::int as upto ${DAYS} and calls > 0),
  sums as (
    select (select calls from newer) as newer, coalesce((select max(upto) from days), 0) as whole, (select calls from older) as older
  ),
  -- Of the calls created before \`bound\`, the page leaves out the newest \`skip\`.
  page_start as (
    select
      case when $9::bigint < newer then $3 when $9::bigint < newer + whole then (first_day.day + 1)::timestamp at time zone 'UTC' else $7 end as bound,
      case when $9::bigint < newer then $9::bigint when $9::bigint < newer + whole then $9::bigint - newer - (first_day.upto - first_day.calls) else $9::bigint - newer - whole end as skip
    from sums left join lateral (select * from days where newer + days.upto > $9::bigint order by days.day desc limit 1) first_day on true
  ),
  keys as (
    select created_at, call_id from calls.calls
    where organization = $1 and created_at >= $2 and created_at < (select bound from page_start)
    order by created_at desc, call_id desc offset (select skip from page_start) limit $8
  )`;

const LATER_PAGE = `${KEYS_OF_LATER_PAGE}
  select newer + whole + older as total, ${ITEMS} from sums left join (
    select ${LIST} from keys k join calls.calls c on c.organization = $1 and c.call_id = k.call_id
  ) page on true
  ${NEWEST_FIRST}`;

const KEYS_OF_CHANGED_PAGE = `
  with changed as (
    select created_at, call_id from calls.calls where organization = $1 and created_at >= $2 and created_at < $3 and updated_at >= $4
  ),
  keys as (select * from changed order by created_at desc, call_id desc offset $5 limit $6)`;

const CHANGED_PAGE = `${KEYS_OF_CHANGED_PAGE}
  select total.calls as total, ${ITEMS} from (select count(*)::int as calls from changed) total left join (
    select ${LIST} from keys k join calls.calls c on c.organization = $1 and c.call_id = k.call_id
  ) page on true
  ${NEWEST_FIRST}`;

const DETAILS_OF_PAGE = withDetails(KEYS_OF_LATER_PAGE, '(select newer + whole + older as total from sums)', 10);
const DETAILS_OF_CHANGED_PAGE = withDetails(KEYS_OF_CHANGED_PAGE, '(select count(*)::int as total from changed)', 7);

/** @param first see {@link detailsSql} */
function withDetails(keys: string, total: string, first: number): string {
  const details = detailsSql(CALLS, 'positions', first, 'read none');
  return `${keys},
    positions as (select call_id as record_id, row_number() over (order by created_at desc, call_id desc) as position from keys),
    ${details.measured}
    select t.total, m.record_id as "callId", ${details.columns} from ${total} t left join measured m on true
    order by m.position`;
}

const DAY_MS = 86_400_000;

export interface CallsPage {
  /** The first creation time. */
  start: Date;
  /** Exclusive. */
  end: Date;
  /** Only calls whose detail changed since then; undefined: all. */
  updatedSince: Date | undefined;
  offset: number;
  limit: number;
}

/**
 * Lists a page of an organization's calls, newest first, with the exact total in the same snapshot.
 *
 * Totals and deep pages come from the per-day rollup: it sums the whole UTC days of the range, and counts the partial days at both ends. A
 * deep page starts reading at the day that contains its first call. So a page reads a row for each day of the range, and the calls of at most three
 * days: two partial ones to count, and one to find its start.
 *
 * With `updatedSince`, all matches are counted, because pollers match few. These statements are planned at each run, because which index reads less
 * depends on the values: with one plan for all values, PostgreSQL 16 and 17 may read every call of the range. The other statements are planned once,
 * because planning them takes as long as running them.
 */
export function listCalls(organization: string, page: CallsPage): Statement<column.RowOf<typeof ROW>> {
  if (page.updatedSince) {
    const values = valuesOfChangedPage(organization, page);
    return { name: 'list_changed_calls', row: ROW, text: CHANGED_PAGE, values, plannedOnce: false };
  }
  const values = valuesOfPage(organization, page);
  return page.offset === 0
    ? { name: 'list_calls_first_page', row: ROW, text: FIRST_PAGE, values, plannedOnce: true }
    : { name: 'list_calls_later_page', row: ROW, text: LATER_PAGE, values: [...values, page.offset], plannedOnce: true };
}

/** Lists the same page with details. */
export function listDetails(organization: string, page: CallsPage, seen: Seen): Statement<column.RowOf<typeof DETAIL_ROW>> {
  if (page.updatedSince) {
    const values = [...valuesOfChangedPage(organization, page), ...callParameters(seen)];
    return { name: 'list_changed_details', row: DETAIL_ROW, text: DETAILS_OF_CHANGED_PAGE, values, plannedOnce: false };
  }
  const values = [...valuesOfPage(organization, page), page.offset, ...callParameters(seen)];
  return { name: 'list_details', row: DETAIL_ROW, text: DETAILS_OF_PAGE, values, plannedOnce: true };
}

function valuesOfChangedPage(organization: string, { start, end, updatedSince, offset, limit }: CallsPage): unknown[] {
  return [organization, start, end, updatedSince, offset, limit];
}

function valuesOfPage(organization: string, { start, end, limit }: CallsPage): unknown[] {
  const firstWhole = Math.ceil(start.getTime() / DAY_MS) * DAY_MS;
  const afterLast = Math.floor(end.getTime() / DAY_MS) * DAY_MS;
  // A range within one day has no whole days, and only one partial day.
  const hasTwoParts = afterLast >= firstWhole;
  return [
    organization,
    start,
    end,
    dayText(firstWhole),
    dayText(afterLast),
    hasTwoParts ? new Date(afterLast) : start,
    hasTwoParts ? new Date(firstWhole) : start,
    limit,
  ];
}

/** Formats a date for PostgreSQL, which rejects the sign in JavaScript's `+010000-01-01`. */
function dayText(time: number): string {
  return new Date(time).toISOString().replace(/T.*/, '').replace(/^\+0/, '');
}
