import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { Holds } from '../domain/holds.ts';
import { BY_KEY } from './import-calls.ts';

// Whoever creates a hold holds the import lock, as does whoever deletes calls or moves them. So what these statements find stays true until the
// transaction ends.

const FOUND = { holdId: column.uuid, callId: column.text.orNull, projectId: column.uuid.orNull };
const FIND = `select hold_id as "holdId", null::text as "callId", project_id as "projectId" from calls.holds
    where organization = $1 and project_id is not null
  union all
  select h.hold_id, h.call_id, null from unnest($2::text[]) as wanted (call_id) cross join lateral (
    select * from calls.held_calls where organization = $1 and call_id = wanted.call_id collate "C" limit 1) h`;

/** Reads the holds that keep any of these calls, in whatever project they are. The caller holds the import lock. */
export async function findHolds(query: Query, organization: string, callIds: readonly string[]): Promise<Holds> {
  return new Holds(await query({ name: 'find_holds', row: FOUND, text: FIND, values: [organization, callIds] }));
}

const HOLD = { holdId: column.uuid };
type HoldId = column.RowOf<typeof HOLD>;

/** Finds a hold that keeps the organization. */
export function findHoldOfOrganization(organization: string): Statement<HoldId> {
  return {
    name: 'find_hold_of_organization',
    row: HOLD,
    text: 'select hold_id as "holdId" from calls.holds where organization = $1 order by created_at limit 1',
    values: [organization],
  };
}

/** Finds a hold that keeps the project, or one of its calls. */
export function findHoldOfProject(organization: string, projectId: string): Statement<HoldId> {
  return {
    name: 'find_hold_of_project',
    row: HOLD,
    text: `select hold_id as "holdId" from calls.holds where organization = $1 and project_id = $2
      union all
      select h.hold_id from calls.held_calls h cross join lateral (
        select project_id from calls.calls where organization = $1 and call_id = h.call_id limit 1) c
      where h.organization = $1 and c.project_id = $2
      limit 1`,
    values: [organization, projectId],
  };
}

/** Finds a hold that keeps a call which the user conducted, or wrote a note on. */
export function findHoldOfUser(organization: string, userId: string): Statement<HoldId> {
  return {
    name: 'find_hold_of_user',
    row: HOLD,
    text: `with own as (
        select call_id, project_id from calls.calls where organization = $1 and conducted_by = $2
        union all
        select c.call_id, c.project_id from calls.notes n join calls.calls c on c.organization = $1 and c.call_id = n.call_id
          where n.organization = $1 and n.user_id = $2)
      select hold_id as "holdId" from calls.holds h where organization = $1 and project_id in (select project_id from own)
      union all
      select hold_id from calls.held_calls h where organization = $1 and call_id in (select call_id from own)
      limit 1`,
    values: [organization, userId],
  };
}

const CALL = { callId: column.text, projectId: column.uuid.orNull, conductedBy: column.uuid.orNull };

/** Finds those of the calls that are stored. */
export function findCallsToHold(organization: string, callIds: readonly string[]): Statement<column.RowOf<typeof CALL>> {
  return {
    name: 'find_calls_to_hold',
    row: CALL,
    text: `select ${column.selectList(CALL, 'c')} from unnest($2::text[]) as wanted (call_id) cross join lateral (${BY_KEY}) c`,
    values: [organization, callIds],
  };
}

const USER_ID = { userId: column.uuid };

/** Finds the users who wrote notes on these calls. */
export function findNoteWriters(organization: string, callIds: readonly string[]): Statement<column.RowOf<typeof USER_ID>> {
  return {
    name: 'find_note_writers',
    row: USER_ID,
    text: `select distinct n.user_id as "userId" from unnest($2::text[]) as wanted (call_id) cross join lateral (
        select user_id from calls.notes where organization = $1 and call_id = wanted.call_id collate "C") n`,
    values: [organization, callIds],
  };
}

/** Finds the users who conducted calls of the project, or wrote notes on them. */
export function findUsersOfProject(organization: string, projectId: string): Statement<column.RowOf<typeof USER_ID>> {
  return {
    name: 'find_users_of_project',
    row: USER_ID,
    text: `select conducted_by as "userId" from calls.calls
        where organization = $1 and project_id = $2 and conducted_by is not null
      union
      select n.user_id from calls.calls c join calls.notes n on n.organization = $1 and n.call_id = c.call_id
        where c.organization = $1 and c.project_id = $2`,
    values: [organization, projectId],
  };
}

export interface NewHold {
  holdId: string;
  label: string;
  projectId: string | null;
  callIds: readonly string[];
  createdAt: Date;
  createdBy: string;
}

/** Stores a hold, which is in force from the commit on. */
export async function insertHold(query: Query, organization: string, hold: NewHold): Promise<void> {
  const { holdId, label, projectId, callIds, createdAt, createdBy } = hold;
  await query({
    name: 'insert_hold',
    text: `insert into calls.holds (organization, hold_id, label, project_id, created_at, created_by) values ($1, $2, $3, $4, $5, $6)`,
    values: [organization, holdId, label, projectId, createdAt, createdBy],
  });
  if (callIds.length === 0) return;
  await query({
    name: 'insert_held_calls',
    // Citus refuses an insert from a query into a table with row-level security, unless it says what to do about conflicts.
    text: `insert into calls.held_calls (organization, call_id, hold_id) select $1, call_id, $2 from unnest($3::text[]) as held (call_id)
      on conflict do nothing`,
    values: [organization, holdId, callIds],
  });
}

const COUNT = { holds: column.integer };

export function countHolds(organization: string): Statement<column.RowOf<typeof COUNT>> {
  return {
    name: 'count_holds',
    row: COUNT,
    text: 'select count(*)::integer as holds from calls.holds where organization = $1',
    values: [organization],
  };
}

const LISTED = {
  holdId: column.uuid,
  label: column.text,
  projectId: column.uuid.orNull,
  createdAt: column.timestamp,
  createdBy: column.text,
  calls: column.integer,
};

/** Lists the holds in force, oldest first, with the number of single calls that each names. */
export function listHolds(organization: string): Statement<column.RowOf<typeof LISTED>> {
  return {
    name: 'list_holds',
    row: LISTED,
    text: `select h.hold_id as "holdId", h.label, h.project_id as "projectId", h.created_at as "createdAt", h.created_by as "createdBy", (
          select count(*)::integer from calls.held_calls c where c.organization = $1 and c.hold_id = h.hold_id) as calls
      from calls.holds h where h.organization = $1 order by h.created_at, h.hold_id`,
    values: [organization],
  };
}

/** Ends a hold. No row if no hold in force has this id. */
export function deleteHold(organization: string, holdId: string): Statement<HoldId> {
  return {
    name: 'delete_hold',
    row: HOLD,
    text: 'delete from calls.holds where organization = $1 and hold_id = $2 returning hold_id as "holdId"',
    values: [organization, holdId],
  };
}
