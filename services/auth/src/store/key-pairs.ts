import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

/**
 * The SQL expression that selects the time before which a key must not be retired. Only the table of token keys has such a column. Caller keys need
 * none: a token that they sign lives for at most a minute, and every key is kept for longer than that after it stops signing.
 */
const PROTECTED_UNTIL = { caller_key: 'null::timestamptz', token_key: 'protected_until' };
export type KeyKind = keyof typeof PROTECTED_UNTIL;

const KEY_PAIR = {
  keyId: column.text,
  privateKeyEncrypted: column.bytes,
  signFrom: column.timestamp,
  protectedUntil: column.timestamp.orNull,
};
type KeyPairRow = column.RowOf<typeof KEY_PAIR>;

/** Lets one replica at a time create or retire keys of a kind, until its transaction ends. */
export function lockKeyPairs(kind: KeyKind): Statement {
  return { name: `lock_${kind}s`, text: `select pg_advisory_xact_lock(hashtext('auth.${kind}s'))` };
}

export function listKeyPairs(kind: KeyKind): Statement<KeyPairRow> {
  return {
    name: `list_${kind}s`,
    row: KEY_PAIR,
    text: `select key_id as "keyId", private_key_encrypted as "privateKeyEncrypted", sign_from as "signFrom",
      ${PROTECTED_UNTIL[kind]} as "protectedUntil" from auth.${kind}s order by sign_from desc, key_id`,
  };
}

export function insertKeyPair(kind: KeyKind, key: Omit<KeyPairRow, 'protectedUntil'>): Statement {
  return {
    name: `insert_${kind}`,
    text: `insert into auth.${kind}s (key_id, private_key_encrypted, sign_from) values ($1, $2, $3)`,
    values: [key.keyId, key.privateKeyEncrypted, key.signFrom],
  };
}

/**
 * Records that a token key must not be retired before this time, which `planRotation` respects.
 * @returns no row if the key is already retired
 */
export function protectUntil(keyId: string, until: Date): Statement<{ keyId: string }> {
  return {
    name: 'protect_until',
    row: { keyId: column.text },
    text: `update auth.token_keys set protected_until = greatest(protected_until, $2) where key_id = $1 returning key_id as "keyId"`,
    values: [keyId, until],
  };
}

/** Deletes key pairs. Their ids and times of first use and retirement stay listed for operators. */
export function retireKeyPairs(kind: KeyKind, keyIds: string[]): Statement {
  return {
    name: `retire_${kind}s`,
    text: `with retired as (delete from auth.${kind}s where key_id = any($1) returning key_id, sign_from)
      insert into auth.retired_keys (key_id, sign_from) select key_id, sign_from from retired`,
    values: [keyIds],
  };
}

export function listRetiredKeys(limit: number): Statement<{ keyId: string; signFrom: Date; retiredAt: Date }> {
  return {
    name: 'list_retired_keys',
    row: { keyId: column.text, signFrom: column.timestamp, retiredAt: column.timestamp },
    text: `select key_id as "keyId", sign_from as "signFrom", retired_at as "retiredAt"
      from auth.retired_keys order by retired_at desc, key_id limit $1`,
    values: [limit],
  };
}
