import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';

/** The objects that oidc-provider stores. Queries leave out expired ones. */

export interface PayloadKey {
  model: string;
  idDigest: Buffer;
}

interface NewPayload extends PayloadKey {
  payloadEncrypted: Buffer;
  uidDigest: Buffer | undefined;
  grantId: string | undefined;
  expiresInSeconds: number;
}

const PAYLOAD = { idDigest: column.bytes, payloadEncrypted: column.bytes, consumed: column.boolean };
export type PayloadRow = column.RowOf<typeof PAYLOAD>;

export function upsertPayload(payload: NewPayload): Statement {
  return {
    name: 'upsert_payload',
    text: `insert into auth.oidc_payloads (model, id_digest, payload_encrypted, uid_digest, grant_id, expires_at)
      values ($1, $2, $3, $4, $5, now() + $6::bigint * interval '1 second')
      on conflict (model, id_digest) do update set payload_encrypted = excluded.payload_encrypted, uid_digest = excluded.uid_digest,
        grant_id = excluded.grant_id, expires_at = excluded.expires_at`,
    values: [
      payload.model,
      payload.idDigest,
      payload.payloadEncrypted,
      payload.uidDigest,
      payload.grantId,
      payload.expiresInSeconds,
    ],
  };
}

/** Stores the id of something that may be used once, until that expires. No row if it was used before. */
export function useOnce(
  { model, idDigest }: PayloadKey,
  { payloadEncrypted, expiresAt }: { payloadEncrypted: Buffer; expiresAt: Date },
): Statement<{ model: string }> {
  return {
    name: 'use_once',
    row: { model: column.text },
    text: `insert into auth.oidc_payloads (model, id_digest, payload_encrypted, expires_at) values ($1, $2, $3, $4)
      on conflict (model, id_digest) do nothing returning model`,
    values: [model, idDigest, payloadEncrypted, expiresAt],
  };
}

/** @param graceSeconds how long a consumed payload is still returned as not consumed */
export function findPayload({ model, idDigest }: PayloadKey, graceSeconds: number): Statement<PayloadRow> {
  return {
    name: 'find_payload',
    row: PAYLOAD,
    text: `select id_digest as "idDigest", payload_encrypted as "payloadEncrypted",
        coalesce(consumed_at <= now() - $3::integer * interval '1 second', false) as consumed
      from auth.oidc_payloads where model = $1 and id_digest = $2 and expires_at > now()`,
    values: [model, idDigest, graceSeconds],
  };
}

export function findPayloadByUid(model: string, uidDigest: Buffer): Statement<PayloadRow> {
  return {
    name: 'find_payload_by_uid',
    row: PAYLOAD,
    text: `select id_digest as "idDigest", payload_encrypted as "payloadEncrypted", consumed_at is not null as consumed
      from auth.oidc_payloads where model = $1 and uid_digest = $2 and expires_at > now()`,
    values: [model, uidDigest],
  };
}

/**
 * One row for the first caller, and for callers within the grace period after it; otherwise none. A consumed payload is kept for up to a
 * week, so that a replay is detected.
 */
export function consumePayload({ model, idDigest }: PayloadKey, graceSeconds: number): Statement<{ model: string }> {
  return {
    name: 'consume_payload',
    row: { model: column.text },
    text: `update auth.oidc_payloads
      set consumed_at = coalesce(consumed_at, now()), expires_at = least(expires_at, now() + interval '7 days')
      where model = $1 and id_digest = $2
        and (consumed_at is null or ($3::integer > 0 and consumed_at > now() - $3::integer * interval '1 second'))
      returning model`,
    values: [model, idDigest, graceSeconds],
  };
}

export function destroyPayload({ model, idDigest }: PayloadKey): Statement {
  return {
    name: 'destroy_payload',
    text: 'delete from auth.oidc_payloads where model = $1 and id_digest = $2',
    values: [model, idDigest],
  };
}

export function destroyPayloadsOfGrant(model: string, grantId: string): Statement {
  return {
    name: 'destroy_payloads_of_grant',
    text: 'delete from auth.oidc_payloads where grant_id = $2 and model = $1',
    values: [model, grantId],
  };
}

/** Extends the payload's lifetime; never shortens it. */
export function keepPayload({ model, idDigest }: PayloadKey, until: Date): Statement {
  return {
    name: 'keep_payload',
    text: 'update auth.oidc_payloads set expires_at = greatest(expires_at, $3) where model = $1 and id_digest = $2',
    values: [model, idDigest, until],
  };
}

/** Records that a browser continued an authorization: it sent the cookie that it got with the first response. */
export function noteBrowser(interaction: PayloadKey, client: PayloadKey): Statement {
  return {
    name: 'note_browser',
    text: `update auth.oidc_payloads set browser_returned = true
      where (model, id_digest) in (($1, $2), ($3, $4)) and not browser_returned`,
    values: [interaction.model, interaction.idDigest, client.model, client.idDigest],
  };
}

/**
 * The most payloads of each model that all unauthenticated clients together may have. Anybody can begin an authorization, register a client,
 * and authenticate as a client that they registered. Identity assertions are those of all organizations together.
 */
export const MAX_UNAUTHENTICATED_PAYLOADS = {
  Interaction: 50_000,
  Client: 20_000,
  ReplayDetection: 100_000,
  UsedAssertion: 100_000,
};
/** The same for throttles. An attacker creates one with each account that they guess at. */
const MOST_THROTTLES = 200_000;

/** Numbers of deleted rows. If several statements deleted payloads, the largest number. */
export interface Gone {
  payloads: number;
  throttles: number;
}

/**
 * Deletes a batch of what unauthenticated clients have stored beyond the bounds. Payloads that no browser returned for go first, so that a flood
 * of requests deletes its own rows and not those of people who are signing in; among these, those that expire next. Only payloads that expire
 * within a day are deleted, which keeps clients that somebody consented to.
 */
export async function deleteExcess(
  query: Query,
  limit: number,
  most = MAX_UNAUTHENTICATED_PAYLOADS,
  mostThrottles = MOST_THROTTLES,
): Promise<Gone> {
  let payloads = 0;
  for (const [model, bound] of Object.entries(most)) {
    const deleted = await query({
      name: 'delete_excess_payloads',
      row: { model: column.text },
      text: `delete from auth.oidc_payloads where model = $1 and id_digest in (
        select id_digest from auth.oidc_payloads where model = $1 and expires_at <= now() + interval '1 day'
        order by browser_returned desc, expires_at desc offset $2 limit $3) returning model`,
      values: [model, bound, limit],
    });
    payloads = Math.max(payloads, deleted.length);
  }
  const throttles = await query({
    name: 'delete_excess_throttles',
    row: { tries: column.integer },
    text: `delete from auth.throttles where bucket in (
      select bucket from auth.throttles order by resets_at desc offset $1 limit $2) returning tries`,
    values: [mostThrottles, limit],
  });
  return { payloads, throttles: throttles.length };
}

/** Deletes a batch of expired payloads and throttles, and skips rows that another replica is deleting. */
export async function deleteExpired(query: Query, limit: number): Promise<Gone> {
  const [payloads, throttles] = await Promise.all([
    query({
      name: 'delete_expired_payloads',
      row: { model: column.text },
      text: `delete from auth.oidc_payloads where (model, id_digest) in (
        select model, id_digest from auth.oidc_payloads where expires_at < now() limit $1 for update skip locked) returning model`,
      values: [limit],
    }),
    query({
      name: 'delete_expired_throttles',
      row: { tries: column.integer },
      text: `delete from auth.throttles where bucket in (
        select bucket from auth.throttles where resets_at < now() limit $1 for update skip locked) returning tries`,
      values: [limit],
    }),
  ]);
  return { payloads: payloads.length, throttles: throttles.length };
}
