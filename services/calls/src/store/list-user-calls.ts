import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { toStatement, sql } from '@crs/kit/data/sql';
import { fold } from '@crs/kit/text';
import type { ListUserCallsRequest } from '@crs/proto/crs/calls/v1/calls';
import type { Knex } from 'knex';
import { USER_LIST_ITEM, type UserListItem } from '../domain/columns.ts';

/** Filters of a user's list, with texts as the user typed them. An absent filter matches everything. */
export type CallFilters = Partial<Omit<ListUserCallsRequest, 'mine' | 'after' | 'limit'>>;

interface UserCallsQuery {
  userId: string;
  /** Only calls that the user conducted. */
  mine: boolean;
  /** Ids of the projects that the user may see. */
  visible: string[];
  filters: CallFilters;
  after: { at: Date; id: string } | null;
  limit: number;
}

const LIST = column.selectList(USER_LIST_ITEM, 'c');

/**
 * Lists a page of the calls that a user may see, most recent first. It reads each visible project, and the calls that the user conducted elsewhere,
 * by an index of its own from the cursor on. So filters are applied only to rows that the user may see, however many others there are.
 */
export function listUserCalls(organization: string, query: UserCallsQuery): Statement<UserListItem> {
  const { userId, mine, visible, filters, limit } = query;
  const page = (rows: Knex.QueryBuilder) =>
    narrow(rows, organization, query)
      .orderBy([
        { column: 'c.recency', order: 'desc' },
        { column: 'c.call_id', order: 'desc' },
      ])
      .limit(limit);
  const calls = () => sql.from('calls.calls as c').select(sql.raw(LIST));

  const projects = mine ? [] : filters.projectId === undefined ? visible : visible.filter((id) => id === filters.projectId);
  const conducted = page(calls().where('c.conducted_by', userId));
  if (filters.projectId !== undefined) conducted.where('c.project_id', filters.projectId);
  if (projects.length === 0) {
    const statement = toStatement('list_user_calls', conducted, USER_LIST_ITEM);
    const isUnfiltered = Object.values(filters).every((filter) => filter === undefined);
    if (!isUnfiltered) return statement;
    // Assistants usually send this one. Planning it takes as long as running it.
    const prepared = { ...statement, dynamic: false, plannedOnce: true };
    return query.after ? { ...prepared, name: 'list_conducted_calls_after' } : { ...prepared, name: 'list_conducted_calls' };
  }

  conducted.whereRaw('(c.project_id is null or c.project_id <> all(?::uuid[]))', [projects]);
  const ofProject = page(calls().whereRaw('c.project_id = p.project_id'));
  const both = sql.raw(
    `select * from (
      (select page.* from unnest(?::uuid[]) as p (project_id) cross join lateral (?) page)
      union all
      (?)
    ) seen order by recency desc, "callId" desc limit ?`,
    [projects, ofProject, conducted, limit],
  );
  return toStatement('list_user_calls', both, USER_LIST_ITEM);
}

function narrow(rows: Knex.QueryBuilder, organization: string, { filters: f, after }: UserCallsQuery): Knex.QueryBuilder {
  rows.where('c.organization', organization);
  if (after) rows.whereRaw('(c.recency, c.call_id) < (?::timestamptz, ?)', [after.at, after.id]);
  if (f.callStatus !== undefined) rows.where('c.call_status', f.callStatus);
  if (f.callType !== undefined) rows.where('c.call_type', f.callType);
  if (f.country !== undefined) rows.where('c.country_folded', fold(f.country));
  const contains = (folded: string, text: string | undefined) => {
    if (text !== undefined) rows.whereRaw('strpos(??, ?) > 0', [folded, fold(text)]);
  };
  contains('c.job_title_folded', f.jobTitleContains);
  contains('c.employer_folded', f.organizationContains);
  contains('c.source_folded', f.sourceContains);
  contains('c.segment_folded', f.segmentContains);
  const bound = (name: string, operator: '>=' | '<=', value: number | Date | undefined) => {
    if (value !== undefined) rows.where(name, operator, value);
  };
  bound('c.rating', '>=', f.minRating);
  bound('c.cost', '>=', f.minCost);
  bound('c.cost', '<=', f.maxCost);
  bound('c.duration_minutes', '>=', f.minDurationMinutes);
  bound('c.duration_minutes', '<=', f.maxDurationMinutes);
  bound('c.date', '>=', f.dateAfter);
  bound('c.date', '<=', f.dateBefore);
  return rows;
}
