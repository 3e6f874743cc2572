import { randomUUID } from 'node:crypto';
import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { deleteNext, PRUNED, ROWS_AT_ONCE } from '@crs/kit/data/delete-next';
import type { StoredResponse } from '../domain/stored-response.ts';

/** What a request may do under its idempotency key. */
type Reservation =
  | { kind: 'ours'; projectId: string; leaseId: string }
  | { kind: 'completed'; response: StoredResponse }
  | { kind: 'in_flight'; secondsLeft: number }
  | { kind: 'other_body' };

const KEEP_KEY_MS = 86_400_000;
/** When the lease ends, a second request with the same key and body takes over, with the same project id. */
const LEASE = `interval '15 seconds'`;

const RESPONSE = { response: column.json<StoredResponse>().orNull };

/** Reserves the key for this request, or returns why it can't. */
export async function reserve(query: Query, organization: string, key: string, bodyHash: Buffer): Promise<Reservation> {
  await query({
    name: 'forget_creation',
    text: `delete from projects.creations where organization = $1 and idempotency_key = $2 and created_at < $3`,
    values: [organization, key, new Date(Date.now() - KEEP_KEY_MS)],
  });
  const [created] = await query({
    name: 'insert_creation',
    row: { projectId: column.uuid, leaseId: column.uuid },
    text: `insert into projects.creations (organization, idempotency_key, body_hash, project_id, lease_id, lease_until)
      values ($1, $2, $3, gen_random_uuid(), gen_random_uuid(), now() + ${LEASE})
      on conflict do nothing returning project_id as "projectId", lease_id as "leaseId"`,
    values: [organization, key, bodyHash],
  });
  if (created) return { kind: 'ours', ...created };
  const [row] = await query({
    name: 'lock_creation',
    row: { bodyHash: column.bytes, projectId: column.uuid, ...RESPONSE, secondsLeft: column.double },
    text: `select body_hash as "bodyHash", project_id as "projectId", response,
        extract(epoch from lease_until - now())::float8 as "secondsLeft"
      from projects.creations where organization = $1 and idempotency_key = $2 for update`,
    values: [organization, key],
  });
  // The owner released the key just now, so the next attempt finds it free.
  if (!row) return { kind: 'in_flight', secondsLeft: 1 };
  if (!row.bodyHash.equals(bodyHash)) return { kind: 'other_body' };
  if (row.response) return { kind: 'completed', response: row.response };
  if (row.secondsLeft > 0) return { kind: 'in_flight', secondsLeft: row.secondsLeft };
  const leaseId = randomUUID();
  await query({
    name: 'take_creation_over',
    text: `update projects.creations set lease_id = $3, lease_until = now() + ${LEASE} where organization = $1 and idempotency_key = $2`,
    values: [organization, key, leaseId],
  });
  return { kind: 'ours', projectId: row.projectId, leaseId };
}

/**
 * Locks the key until the transaction ends. The row has a response if a second request took over and finished first. No row: the key was deleted.
 */
export function lockKey(organization: string, key: string, projectId: string): Statement<column.RowOf<typeof RESPONSE>> {
  return {
    name: 'lock_answer',
    row: RESPONSE,
    text: `select response from projects.creations
      where organization = $1 and idempotency_key = $2 and project_id = $3 for update`,
    values: [organization, key, projectId],
  };
}

export function storeResponse(organization: string, key: string, response: StoredResponse): Statement {
  return {
    name: 'keep_answer',
    text: 'update projects.creations set response = $3 where organization = $1 and idempotency_key = $2',
    values: [organization, key, JSON.stringify(response)],
  };
}

/** Releases the key after a failure that created nothing. */
export function release(organization: string, leaseId: string, key: string): Statement {
  return {
    name: 'release_creation',
    text: 'delete from projects.creations where organization = $1 and idempotency_key = $2 and lease_id = $3 and response is null',
    values: [organization, key, leaseId],
  };
}

/** Lets a second request take over at once, after a failure that may have created the project. */
export function expireLease(organization: string, leaseId: string, key: string): Statement {
  return {
    name: 'expire_creation_lease',
    text: 'update projects.creations set lease_until = now() where organization = $1 and idempotency_key = $2 and lease_id = $3',
    values: [organization, key, leaseId],
  };
}

export function pruneCreations(organization: string, now: Date): Statement<column.RowOf<typeof PRUNED>> {
  return {
    name: 'forget_creations',
    row: PRUNED,
    text: `with old as (
        select idempotency_key from projects.creations where organization = $1 and created_at < $2
          order by created_at limit ${ROWS_AT_ONCE}),
      gone as (delete from projects.creations c using old where c.organization = $1 and c.idempotency_key = old.idempotency_key returning 1)
      select count(*)::int as pruned from gone`,
    values: [organization, new Date(now.getTime() - KEEP_KEY_MS)],
  };
}

export const eraseCreations = deleteNext({ name: 'erase_creations', table: 'projects.creations', key: 'idempotency_key' });

/** Removes a user from the responses that contain them. */
export function removePerson(organization: string, userId: string): Statement {
  return {
    name: 'forget_person',
    text: `update projects.creations set response = jsonb_set(
        jsonb_set(response, '{lead}', case when response -> 'lead' ->> 'userId' <> $2 then response -> 'lead' else 'null' end),
        '{members}', jsonb_path_query_array(response, '$.members[*] ? (@.userId != $userId)', $3::jsonb))
      where organization = $1 and (response -> 'lead' ->> 'userId' = $2 or response -> 'members' @> $4::jsonb)`,
    values: [organization, userId, JSON.stringify({ userId }), JSON.stringify([{ userId }])],
  };
}
