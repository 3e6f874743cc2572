import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { deleteNext } from '@crs/kit/data/delete-next';

// The caller holds the import lock, so no import writes concurrently.

export const eraseCalls = deleteNext({ name: 'erase_all_calls', table: 'calls.calls', key: 'call_id' });

/** Deletes the organization's few other rows, including its name secret. */
export async function eraseRest(query: Query, organization: string): Promise<void> {
  for (const table of ['call_days', 'name_secrets', 'retention']) {
    await query({
      name: `erase_all_${table}`,
      text: `delete from calls.${table} where organization = $1`,
      values: [organization],
    });
  }
}

const ERASED = { callId: column.text };

/** Deletes up to `atMost` calls of a project with their notes, and updates the rollup. Returns their ids. */
export function eraseProjectCalls(
  organization: string,
  projectId: string,
  atMost: number,
): Statement<column.RowOf<typeof ERASED>> {
  return {
    name: 'erase_project_calls',
    row: ERASED,
    text: `with first as (
        select call_id from calls.calls where organization = $1 and project_id = $2 order by recency desc, call_id desc limit $3
      ),
      gone as (
        delete from calls.calls c using first where c.organization = $1 and c.call_id = first.call_id
        returning c.call_id, (c.created_at at time zone 'UTC')::date as day
      ),
      days as (select day, count(*)::int as calls from gone group by day),
      moved as (update calls.call_days d set calls = d.calls - days.calls from days where d.organization = $1 and d.day = days.day)
      select call_id as "callId" from gone`,
    values: [organization, projectId, atMost],
  };
}

/** Deletes a user's notes. The calls that the user conducted stay, without a conductor. */
export async function eraseUser(query: Query, organization: string, userId: string): Promise<void> {
  // Clears the hashes of changed calls, so that importing the same records again restores them.
  await query({
    name: 'forget_lines_of_user',
    text: `update calls.calls set line_hash = null, record_hash = '' where organization = $1 and call_id in (
      select call_id from calls.notes where organization = $1 and user_id = $2)`,
    values: [organization, userId],
  });
  await query({
    name: 'erase_user_notes',
    text: 'delete from calls.notes where organization = $1 and user_id = $2',
    values: [organization, userId],
  });
  await query({
    name: 'release_conductor',
    text: `update calls.calls set conducted_by = null, line_hash = null, record_hash = ''
      where organization = $1 and conducted_by = $2`,
    values: [organization, userId],
  });
}
