import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { built, sql } from '@crs/kit/data/sql';
import { fold } from '@crs/kit/text';
import type { Knex } from 'knex';
import { USER_LIST_ITEM, type UserListItem } from '../domain/columns.ts';

/** Filters of a user's list, texts as the user gives them. Null matches everything. */
export interface CallFilters {
  projectId: string | null;
  callStatus: string | null;
  callType: string | null;
  country: string | null;
  jobTitleContains: string | null;
  employerContains: string | null;
  sourceContains: string | null;
  segmentContains: string | null;
  minRating: number | null;
  minCost: number | null;
  maxCost: number | null;
  minDurationMinutes: number | null;
  maxDurationMinutes: number | null;
  dateAfter: Date | null;
  dateBefore: Date | null;
}

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
 * A page of the calls that a user may see, most recent first. There is one walk for every visible project, and one for the calls that the
 * user conducted outside of these projects. Each walk follows an index of its own from the cursor on. So filters meet only rows that the
 * user may see, whatever else the organization holds.
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

  const projects = mine ? [] : filters.projectId === null ? visible : visible.filter((id) => id === filters.projectId);
  const conducted = page(calls().where('c.conducted_by', userId));
  if (filters.projectId !== null) conducted.where('c.project_id', filters.projectId);
  if (projects.length === 0) {
    const statement = built('list_user_calls', conducted, USER_LIST_ITEM);
    const isUnfiltered = Object.values(filters).every((filter) => filter === null);
    if (!isUnfiltered) return statement;
    // The usual list of assistants: to plan it takes as long as to run it.
    const prepared = { ...statement, dynamic: false, plannedOnce: true };
    return query.after ? { ...prepared, name: 'list_conducted_calls_after' } : { ...prepared, name: 'list_conducted_calls' };
  }

  const elsewhere = page(
    calls().where('c.conducted_by', userId).whereRaw('(c.project_id is null or c.project_id <> all(?::uuid[]))', [projects]),
  );
  if (filters.projectId !== null) elsewhere.where('c.project_id', filters.projectId);
  const ofProject = page(calls().whereRaw('c.project_id = p.project_id'));
  const both = sql.raw(
    `select * from (
      (select page.* from unnest(?::uuid[]) as p (project_id) cross join lateral (?) page)
      union all
      (?)
    ) seen order by recency desc, "callId" desc limit ?`,
    [projects, ofProject, elsewhere, limit],
  );
  return built('list_user_calls', both, USER_LIST_ITEM);
}

function narrow(rows: Knex.QueryBuilder, organization: string, { filters: f, after }: UserCallsQuery): Knex.QueryBuilder {
  rows.where('c.organization', organization);
  if (after) rows.whereRaw('(c.recency, c.call_id) < (?::timestamptz, ?)', [after.at, after.id]);
  if (f.callStatus !== null) rows.where('c.call_status', f.callStatus);
  if (f.callType !== null) rows.where('c.call_type', f.callType);
  if (f.country !== null) rows.where('c.country_folded', fold(f.country));
  const contains = (folded: string, text: string | null) => {
    if (text !== null) rows.whereRaw('strpos(??, ?) > 0', [folded, fold(text)]);
  };
  contains('c.job_title_folded', f.jobTitleContains);
  contains('c.employer_folded', f.employerContains);
  contains('c.source_folded', f.sourceContains);
  contains('c.segment_folded', f.segmentContains);
  const bound = (name: string, operator: '>=' | '<=', value: number | Date | null) => {
    if (value !== null) rows.where(name, operator, value);
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
