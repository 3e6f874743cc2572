import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import type { RetainBy } from '@crs/records/retain';

const CALL = {
  callId: column.text,
  projectId: column.uuid.orNull,
  createdAt: column.timestamp,
  isOld: column.boolean,
};
export type AgedCall = column.RowOf<typeof CALL>;

/** The columns from which the age of a call is counted. */
const SINCE: Record<RetainBy, string> = { date: 'recency', created: 'created_at' };

/**
 * Reads the next calls in the order of their ids, and whether they are older than the cutoff. No index serves this by age: each import would pay for
 * it, and retention reads the calls only once a day.
 */
export function nextCalls(organization: string, after: string, by: RetainBy, cutoff: Date, limit: number): Statement<AgedCall> {
  return {
    name: `next_calls_by_${by}`,
    row: CALL,
    text: `select call_id as "callId", project_id as "projectId", created_at as "createdAt", ${SINCE[by]} < $3 as "isOld"
      from calls.calls where organization = $1 and call_id > $2 order by call_id limit $4`,
    values: [organization, after, cutoff, limit],
  };
}

const RUN = { countedFor: column.timestamp.orNull, day: column.text, deleted: column.integer };
export type RetentionRun = column.RowOf<typeof RUN>;

/** What the last runs did. No row: there was none. */
export function findRun(organization: string): Statement<RetentionRun> {
  return {
    name: 'find_retention_run',
    row: RUN,
    text: 'select counted_for as "countedFor", day::text, deleted from calls.retention where organization = $1',
    values: [organization],
  };
}

export function putRun(organization: string, { countedFor, day, deleted }: RetentionRun): Statement {
  return {
    name: 'put_retention_run',
    text: `insert into calls.retention (organization, counted_for, day, deleted) values ($1, $2, $3, $4)
      on conflict (organization) do update set counted_for = excluded.counted_for, day = excluded.day, deleted = excluded.deleted`,
    values: [organization, countedFor, day, deleted],
  };
}
