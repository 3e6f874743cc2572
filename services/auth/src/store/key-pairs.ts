import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

/** Each kind has a table. Only token keys sign tokens that live longer than minutes. */
const PROTECTS_UNTIL = { caller_key: 'null::timestamptz', token_key: 'protects_until' };
export type KeyKind = keyof typeof PROTECTS_UNTIL;

const KEY_PAIR = {
  keyId: column.text,
  privateKeySealed: column.bytes,
  signFrom: column.instant,
  protectsUntil: column.instant.orNull,
};
type KeyPairRow = column.RowOf<typeof KEY_PAIR>;

/** One replica at a time makes or drops keys of a kind. The lock is held until the transaction ends. */
export function lockKeyPairs(kind: KeyKind): Statement {
  return { name: `lock_${kind}s`, text: `select pg_advisory_xact_lock(hashtext('auth.${kind}s'))` };
}

export function listKeyPairs(kind: KeyKind): Statement<KeyPairRow> {
  return {
    name: `list_${kind}s`,
    row: KEY_PAIR,
    text: `select key_id as "keyId", private_key_sealed as "privateKeySealed", sign_from as "signFrom",
      ${PROTECTS_UNTIL[kind]} as "protectsUntil" from auth.${kind}s order by sign_from desc, key_id`,
  };
}

export function insertKeyPair(kind: KeyKind, key: Omit<KeyPairRow, 'protectsUntil'>): Statement {
  return {
    name: `insert_${kind}`,
    text: `insert into auth.${kind}s (key_id, private_key_sealed, sign_from) values ($1, $2, $3)`,
    values: [key.keyId, key.privateKeySealed, key.signFrom],
  };
}

/** The key is kept until this time at least. No row where it has been retired. */
export function protectUntil(keyId: string, until: Date): Statement<{ keyId: string }> {
  return {
    name: 'protect_until',
    row: { keyId: column.text },
    text: `update auth.token_keys set protects_until = greatest(protects_until, $2) where key_id = $1 returning key_id as "keyId"`,
    values: [keyId, until],
  };
}

/** Deletes key pairs, and notes when they signed and were retired. */
export function retireKeyPairs(kind: KeyKind, keyIds: string[]): Statement {
  return {
    name: `retire_${kind}s`,
    text: `with retired as (delete from auth.${kind}s where key_id = any($1) returning key_id, sign_from)
      insert into auth.retired_keys (key_id, sign_from) select key_id, sign_from from retired`,
    values: [keyIds],
  };
}

const RETIRED = { keyId: column.text, signFrom: column.instant, retiredAt: column.instant };

export function listRetiredKeys(limit: number): Statement<column.RowOf<typeof RETIRED>> {
  return {
    name: 'list_retired_keys',
    row: RETIRED,
    text: `select ${column.selectList(RETIRED)} from auth.retired_keys order by retired_at desc, key_id limit $1`,
    values: [limit],
  };
}
