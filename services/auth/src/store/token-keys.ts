import type { Query } from '@crs/kit/data/database';

export interface TokenKeyRow {
  keyId: string;
  publicJwk: string;
  privateKeySealed: Buffer;
}

/** Newest first: the first one signs. */
export function listTokenKeys(query: Query): Promise<TokenKeyRow[]> {
  return query<TokenKeyRow>({
    name: 'list_token_keys',
    text: `select key_id as "keyId", public_jwk as "publicJwk", private_key_sealed as "privateKeySealed" from auth.token_keys
      order by created_at desc, key_id`,
  });
}

/** One replica makes the first key; held until the transaction ends. */
export async function lockTokenKeys(query: Query): Promise<void> {
  await query({ name: 'lock_token_keys', text: `select pg_advisory_xact_lock(hashtext('auth.token_keys'))` });
}

export async function insertTokenKey(query: Query, key: TokenKeyRow): Promise<void> {
  await query({
    name: 'insert_token_key',
    text: 'insert into auth.token_keys (key_id, public_jwk, private_key_sealed) values ($1, $2, $3)',
    values: [key.keyId, key.publicJwk, key.privateKeySealed],
  });
}
