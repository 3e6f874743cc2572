import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

/** Each kind has a table. Caller keys are published before they sign; token keys sign from their creation on. */
const SIGN_FROM = { caller_key: 'sign_from', token_key: 'created_at' };
export type KeyKind = keyof typeof SIGN_FROM;

const KEY_PAIR = { keyId: column.text, privateKeySealed: column.bytes, signFrom: column.instant };
export type KeyPairRow = column.RowOf<typeof KEY_PAIR>;

/** One replica at a time makes or drops keys of a kind. The lock is held until the transaction ends. */
export function lockKeyPairs(kind: KeyKind): Statement {
  return { name: `lock_${kind}s`, text: `select pg_advisory_xact_lock(hashtext('auth.${kind}s'))` };
}

/** Newest first. */
export function listKeyPairs(kind: KeyKind): Statement<KeyPairRow> {
  return {
    name: `list_${kind}s`,
    row: KEY_PAIR,
    text: `select key_id as "keyId", private_key_sealed as "privateKeySealed", ${SIGN_FROM[kind]} as "signFrom"
      from auth.${kind}s order by ${SIGN_FROM[kind]} desc, key_id`,
  };
}

/** Without `signFrom`, the key signs from the database's present on. */
export function insertKeyPair(
  kind: KeyKind,
  key: Omit<KeyPairRow, 'signFrom'> & { publicJwk: string; signFrom?: Date },
): Statement {
  return {
    name: `insert_${kind}`,
    text: `insert into auth.${kind}s (key_id, public_jwk, private_key_sealed, ${SIGN_FROM[kind]})
      values ($1, $2, $3, coalesce($4, now()))`,
    values: [key.keyId, key.publicJwk, key.privateKeySealed, key.signFrom],
  };
}

export function deleteCallerKeys(keyIds: string[]): Statement {
  return { name: 'delete_caller_keys', text: 'delete from auth.caller_keys where key_id = any($1)', values: [keyIds] };
}
