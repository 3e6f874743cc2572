import type { Query } from '@crs/kit/data/database';

/** The answer to a request that created a project, as it is kept for its twins. */
export interface StoredAnswer {
  projectId: string;
  name: string;
  summary: string | null;
  status: string;
  /** ISO 8601. */
  createdAt: string;
  /** Null once they are deleted. */
  lead: StoredPerson | null;
  members: StoredPerson[];
  billingOfficeName: string | null;
}

export interface StoredPerson {
  /** Not shown: by it they are found when they are deleted. */
  userId: string;
  name: string | null;
  email: string;
}

/** What a request may do under its idempotency key. */
export type Reservation =
  | { kind: 'ours'; projectId: string; leaseId: string }
  | { kind: 'answered'; answer: StoredAnswer }
  | { kind: 'in_flight'; secondsLeft: number }
  | { kind: 'other_body' };

/** As long as a key is remembered. */
const KEEP = `interval '24 hours'`;
/** After this a twin takes over the work, under the same project id. */
const LEASE = `interval '15 seconds'`;

interface CreationRow {
  bodyHash: Buffer;
  projectId: string;
  answer: StoredAnswer | null;
  secondsLeft: number;
}

/** Takes the key for this request, or says why it can't. */
export async function reserve(query: Query, organization: string, key: string, bodyHash: Buffer): Promise<Reservation> {
  await query({
    name: 'forget_creations',
    text: `delete from projects.creations where organization = $1 and created_at < now() - ${KEEP}`,
    values: [organization],
  });
  const [created] = await query<{ projectId: string; leaseId: string }>({
    name: 'insert_creation',
    text: `insert into projects.creations (organization, idempotency_key, body_hash, project_id, lease_id, lease_until)
      values ($1, $2, $3, gen_random_uuid(), gen_random_uuid(), now() + ${LEASE})
      on conflict do nothing returning project_id as "projectId", lease_id as "leaseId"`,
    values: [organization, key, bodyHash],
  });
  if (created) return { kind: 'ours', ...created };
  const [row] = await query<CreationRow>({
    name: 'lock_creation',
    text: `select body_hash as "bodyHash", project_id as "projectId", answer,
        extract(epoch from lease_until - now())::float8 as "secondsLeft"
      from projects.creations where organization = $1 and idempotency_key = $2 for update`,
    values: [organization, key],
  });
  // Given up by its owner in this moment; the next try finds the key free.
  if (!row) return { kind: 'in_flight', secondsLeft: 1 };
  if (!row.bodyHash.equals(bodyHash)) return { kind: 'other_body' };
  if (row.answer) return { kind: 'answered', answer: row.answer };
  if (row.secondsLeft > 0) return { kind: 'in_flight', secondsLeft: row.secondsLeft };
  const [taken] = await query<{ leaseId: string }>({
    name: 'take_creation_over',
    text: `update projects.creations set lease_id = gen_random_uuid(), lease_until = now() + ${LEASE}
      where organization = $1 and idempotency_key = $2 returning lease_id as "leaseId"`,
    values: [organization, key],
  });
  return { kind: 'ours', projectId: row.projectId, leaseId: taken!.leaseId };
}

/**
 * Locks the key until the transaction ends. @returns the answer of a twin that took over and was quicker, null where there is none yet,
 * undefined where the key is gone
 */
export async function lockAnswer(
  query: Query,
  organization: string,
  key: string,
  projectId: string,
): Promise<StoredAnswer | null | undefined> {
  const [row] = await query<{ answer: StoredAnswer | null }>({
    name: 'lock_answer',
    text: `select answer from projects.creations
      where organization = $1 and idempotency_key = $2 and project_id = $3 for update`,
    values: [organization, key, projectId],
  });
  return row?.answer;
}

export async function keepAnswer(query: Query, organization: string, key: string, given: StoredAnswer): Promise<void> {
  await query({
    name: 'keep_answer',
    text: 'update projects.creations set answer = $3 where organization = $1 and idempotency_key = $2',
    values: [organization, key, JSON.stringify(given)],
  });
}

/** Gives the key up after a failure that created nothing. */
export async function release(query: Query, organization: string, leaseId: string, key: string): Promise<void> {
  await query({
    name: 'release_creation',
    text: 'delete from projects.creations where organization = $1 and idempotency_key = $2 and lease_id = $3 and answer is null',
    values: [organization, key, leaseId],
  });
}

/** Lets a twin take over at once, where it isn't known whether the project was created. */
export async function expireLease(query: Query, organization: string, leaseId: string, key: string): Promise<void> {
  await query({
    name: 'expire_creation_lease',
    text: 'update projects.creations set lease_until = now() where organization = $1 and idempotency_key = $2 and lease_id = $3',
    values: [organization, key, leaseId],
  });
}

/** Takes a user out of the answers that name them. */
export async function forgetPerson(query: Query, organization: string, userId: string): Promise<void> {
  await query({
    name: 'forget_person',
    text: `update projects.creations set answer = answer || jsonb_build_object(
        'lead', case when answer -> 'lead' ->> 'userId' <> $2 then answer -> 'lead' end,
        'members', (select coalesce(jsonb_agg(person order by place), '[]') from jsonb_array_elements(answer -> 'members')
          with ordinality as members (person, place) where person ->> 'userId' <> $2))
      where organization = $1 and (answer -> 'lead' ->> 'userId' = $2 or answer -> 'members' @> jsonb_build_array(jsonb_build_object('userId', $2::text)))`,
    values: [organization, userId],
  });
}
