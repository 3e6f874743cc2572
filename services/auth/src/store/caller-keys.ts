import type { Query } from '@crs/kit/data/database';

export interface CallerKeyRow {
  keyId: string;
  publicJwk: string;
  privateKeySealed: Buffer;
  signFrom: Date;
}

/** One replica rotates at a time; held until the transaction ends. */
export async function lockCallerKeys(query: Query): Promise<void> {
  await query({ name: 'lock_caller_keys', text: `select pg_advisory_xact_lock(hashtext('auth.caller_keys'))` });
}

/** Newest first. */
export function listCallerKeys(query: Query): Promise<CallerKeyRow[]> {
  return query<CallerKeyRow>({
    name: 'list_caller_keys',
    text: `select key_id as "keyId", public_jwk as "publicJwk", private_key_sealed as "privateKeySealed", sign_from as "signFrom"
      from auth.caller_keys order by sign_from desc`,
  });
}

export async function insertCallerKey(query: Query, key: CallerKeyRow): Promise<void> {
  await query({
    name: 'insert_caller_key',
    text: 'insert into auth.caller_keys (key_id, public_jwk, private_key_sealed, sign_from) values ($1, $2, $3, $4)',
    values: [key.keyId, key.publicJwk, key.privateKeySealed, key.signFrom],
  });
}

export async function deleteCallerKeys(query: Query, keyIds: string[]): Promise<void> {
  await query({ name: 'delete_caller_keys', text: 'delete from auth.caller_keys where key_id = any($1)', values: [keyIds] });
}
