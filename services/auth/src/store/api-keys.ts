import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';

const API_KEY = {
  keyId: column.text,
  prefix: column.text,
  label: column.text,
  rights: column.textArray,
  networks: column.textArray,
  createdAt: column.timestamp,
  expiresAt: column.timestamp.orNull,
  revokedAt: column.timestamp.orNull,
  lastUsedAt: column.timestamp.orNull,
};
export type ApiKeyRow = column.RowOf<typeof API_KEY>;

const COLUMNS = column.selectList(API_KEY);

/** Finds the organization of a key, in a table without row-level security. */
export function lookUpKey(digest: Buffer): Statement<{ organization: string; keyId: string }> {
  return {
    name: 'look_up_key',
    row: { organization: column.text, keyId: column.text },
    text: 'select organization, key_id as "keyId" from auth.key_directory where digest = $1',
    values: [digest],
  };
}

const SETTINGS = {
  writeSurface: column.boolean,
  anonymizeInterviewees: column.boolean,
  allowedFields: column.textArray.orNull,
  rateLimitRequests: column.integer,
  rateLimitPeriodSeconds: column.integer,
  deleteLimit: column.integer,
};
const LIVE_KEY = { ...SETTINGS, rights: column.textArray, networks: column.textArray, usageIsStale: column.boolean };

/** No row once the key is revoked or expired, or its organization is suspended or its deletion has begun. */
export function findLiveKey(organization: string, keyId: string): Statement<column.RowOf<typeof LIVE_KEY>> {
  return {
    name: 'find_live_key',
    row: LIVE_KEY,
    text: `select ${column.selectList(SETTINGS, 'o')}, k.rights, k.networks,
        (k.last_used_at is null or k.last_used_at < now() - interval '1 minute') as "usageIsStale"
      from auth.api_keys k join auth.organizations o using (organization)
      where k.organization = $1 and k.key_id = $2 and o.erasing_at is null and o.suspended_at is null and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now())`,
    values: [organization, keyId],
  };
}

/** Writes at most once a minute, however many replicas see the key used. */
export function touchKey(organization: string, keyId: string): Statement {
  return {
    name: 'touch_key',
    text: `update auth.api_keys set last_used_at = now()
      where organization = $1 and key_id = $2 and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
    values: [organization, keyId],
  };
}

interface NewApiKey extends Pick<ApiKeyRow, 'keyId' | 'prefix' | 'label' | 'rights' | 'networks'> {
  digest: Buffer;
  /** 0: never expires, unless `expiresAt` says when. */
  expiresInSeconds: number;
  expiresAt?: Date | null;
}

/** @returns undefined if the digest is that of another key, maybe of another organization: the caller must then roll back */
export async function insertApiKey(query: Query, organization: string, key: NewApiKey): Promise<ApiKeyRow | undefined> {
  const [claimed] = await query({
    name: 'insert_key_directory',
    row: { keyId: column.text },
    text: `insert into auth.key_directory (digest, organization, key_id) values ($1, $2, $3)
      on conflict do nothing returning key_id as "keyId"`,
    values: [key.digest, organization, key.keyId],
  });
  if (!claimed) return undefined;
  const [row] = await query({
    name: 'insert_api_key',
    row: API_KEY,
    text: `insert into auth.api_keys (organization, key_id, digest, prefix, label, rights, networks, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7,
        case when $8::bigint > 0 then now() + $8::bigint * interval '1 second' else $9::timestamptz end) returning ${COLUMNS}`,
    values: [
      organization,
      key.keyId,
      key.digest,
      key.prefix,
      key.label,
      key.rights,
      key.networks,
      key.expiresInSeconds,
      key.expiresAt ?? null,
    ],
  });
  return row;
}

export function listApiKeys(organization: string): Statement<ApiKeyRow> {
  return {
    name: 'list_api_keys',
    row: API_KEY,
    text: `select ${COLUMNS} from auth.api_keys where organization = $1 order by api_keys.created_at desc, key_id`,
    values: [organization],
  };
}

/** No row if the organization has no such key. */
export function revokeApiKey(organization: string, keyId: string): Statement<ApiKeyRow> {
  return {
    name: 'revoke_api_key',
    row: API_KEY,
    text: `update auth.api_keys set revoked_at = least(revoked_at, now()) where organization = $1 and key_id = $2 returning ${COLUMNS}`,
    values: [organization, keyId],
  };
}

const KEY_DIGEST = {
  keyId: column.text,
  digest: column.bytes,
  label: column.text,
  rights: column.textArray,
  networks: column.textArray,
  expiresAt: column.timestamp.orNull,
  revokedAt: column.timestamp.orNull,
};
export type KeyDigestRow = column.RowOf<typeof KEY_DIGEST>;

/** In an order that is the same for the same keys in another installation. */
export function listKeyDigests(organization: string): Statement<KeyDigestRow> {
  return {
    name: 'list_key_digests',
    row: KEY_DIGEST,
    text: `select ${column.selectList(KEY_DIGEST)} from auth.api_keys where organization = $1 order by label collate "C", digest`,
    values: [organization],
  };
}

/** What a key may do is fixed when it is made. */
export function updateApiKey(
  organization: string,
  keyId: string,
  { label, networks, expiresAt }: Pick<ApiKeyRow, 'label' | 'networks' | 'expiresAt'>,
): Statement {
  return {
    name: 'update_api_key',
    text: 'update auth.api_keys set label = $3, networks = $4, expires_at = $5 where organization = $1 and key_id = $2',
    values: [organization, keyId, label, networks, expiresAt],
  };
}
