import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { callParameters, DETAILS, detailsSql, type Seen } from './details.ts';

const ROW = {
  /** Null in the one row of an empty page. That row holds nothing but the total. */
  callId: column.text.orNull,
  /** The list item as it is stored; null with `callId`. */
  listItemJson: column.text.orNull,
  total: column.integer,
};
type ListRow = column.RowOf<typeof ROW>;

const DETAIL_ROW = {
  ...DETAILS,
  /** The call's id, also where its detail was not read; null in the one row of an empty page. */
  listed: column.text.orNull,
  total: column.integer,
};
type DetailListRow = column.RowOf<typeof DETAIL_ROW>;

const LIST = 'c.call_id, c.created_at, c.list_item_json';
const ITEMS = 'page.call_id as "callId", page.list_item_json as "listItemJson"';
const NEWEST_FIRST = 'order by page.created_at desc, page.call_id desc';

/** `$1` organization, `$2` start, `$3` end, `$4` first whole day, `$5` day after the last whole one, `$6` start of the newer part, `$7` end of the older part. */
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
  days as (select day, calls, sum(calls) over (order by day desc)::int as upto ${DAYS} and calls > 0),
  sums as (
    select (select calls from newer) as newer, coalesce((select max(upto) from days), 0) as whole, (select calls from older) as older
  ),
  -- The page begins \`skip\` calls before \`bound\`.
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

/** @param first as of {@link detailsSql} */
function withDetails(keys: string, total: string, first: number): string {
  const details = detailsSql('positions', first, 'read none');
  return `${keys},
    positions as (select call_id, row_number() over (order by created_at desc, call_id desc) as position from keys),
    ${details.measured}
    select t.total, m.call_id as listed, ${details.columns} from ${total} t left join measured m on true
    order by m.position`;
}

const DAY_MS = 86_400_000;

export interface Range {
  start: Date;
  /** Exclusive. */
  end: Date;
}

export interface Page {
  offset: number;
  limit: number;
}

/**
 * A page of an organization's calls, newest first, with the exact total of the same moment.
 *
 * Totals and deep pages come from the per-day rollup. The range is cut into whole UTC days, which are summed, and a part of a day at
 * either end, which is counted. A deep page starts at the day in which it begins. So every page costs the number of days, and at most
 * one day's calls.
 */
export function listCalls(organization: string, range: Range, page: Page): Statement<ListRow> {
  const values = valuesOf(organization, range, page);
  // To plan the statement takes as long as to run it.
  const planned = { row: ROW, plannedOnce: true };
  return page.offset === 0
    ? { ...planned, name: 'list_calls_first_page', text: FIRST_PAGE, values }
    : { ...planned, name: 'list_calls_later_page', text: LATER_PAGE, values: [...values, page.offset] };
}

/** The same page with details. */
export function listDetails(organization: string, range: Range, page: Page, seen: Seen): Statement<DetailListRow> {
  const values = [...valuesOf(organization, range, page), page.offset, ...callParameters(seen)];
  return { name: 'list_details', row: DETAIL_ROW, text: DETAILS_OF_PAGE, values, plannedOnce: true };
}

function valuesOf(organization: string, { start, end }: Range, { limit }: Page): unknown[] {
  const firstWhole = Math.ceil(start.getTime() / DAY_MS) * DAY_MS;
  const afterLast = Math.floor(end.getTime() / DAY_MS) * DAY_MS;
  // A range inside one day has no whole days and one part.
  const parted = afterLast >= firstWhole;
  return [
    organization,
    start,
    end,
    dayText(firstWhole),
    dayText(afterLast),
    parted ? new Date(afterLast) : start,
    parted ? new Date(firstWhole) : start,
    limit,
  ];
}

/** A date as PostgreSQL reads it: it refuses the sign with which JavaScript writes the day after 9999-12-31. */
function dayText(time: number): string {
  return new Date(time).toISOString().replace(/T.*/, '').replace(/^\+0/, '');
}

/**
 * A page of the calls whose detail changed since then. All of them are counted, as pollers ask for few. The values decide which index reads
 * less: a plan for all values may read every call of the range (PostgreSQL 16 and 17 do).
 */
export function listChangedCalls(
  organization: string,
  { start, end }: Range,
  since: Date,
  { offset, limit }: Page,
): Statement<ListRow> {
  const values = [organization, start, end, since, offset, limit];
  return { name: 'list_changed_calls', row: ROW, text: CHANGED_PAGE, values, plannedOnce: false };
}

/** The same page with details. */
export function listChangedDetails(
  organization: string,
  { start, end }: Range,
  since: Date,
  { offset, limit }: Page,
  seen: Seen,
): Statement<DetailListRow> {
  const values = [organization, start, end, since, offset, limit, ...callParameters(seen)];
  return { name: 'list_changed_details', row: DETAIL_ROW, text: DETAILS_OF_CHANGED_PAGE, values, plannedOnce: false };
}
