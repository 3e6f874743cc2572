import type { Query } from '@crs/kit/data/database';
import { ORGANIZATION_COLUMNS, type OrganizationRow } from './organizations.ts';

export interface ApiKeyRow {
  keyId: string;
  prefix: string;
  label: string;
  readOnly: boolean;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
}

const COLUMNS = `key_id as "keyId", prefix, label, read_only as "readOnly", api_keys.created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt", last_used_at as "lastUsedAt"`;

/** Whose key it is. Runs above tenants; it answers nothing but where to look. */
export function lookUpKey(digest: Buffer) {
  return {
    name: 'look_up_key',
    text: 'select organization, key_id as "keyId" from auth.key_directory where digest = $1',
    values: [digest],
  };
}

/** The key with its organization's settings, while it is good. */
export function findLiveKey(organization: string, keyId: string) {
  return {
    name: 'find_live_key',
    text: `select ${ORGANIZATION_COLUMNS.replace('created_at', 'organizations.created_at')},
        key_id as "keyId", read_only as "readOnly", (last_used_at is null or last_used_at < now() - interval '1 minute') as "useIsNews"
      from auth.api_keys join auth.organizations using (organization)
      where organization = $1 and key_id = $2 and organizations.erasing_at is null and revoked_at is null and (expires_at is null or expires_at > now())`,
    values: [organization, keyId],
  };
}
export type LiveKeyRow = OrganizationRow & { keyId: string; readOnly: boolean; useIsNews: boolean };

/** At most one write a minute, however many replicas see the key used. */
export function touchKey(organization: string, keyId: string) {
  return {
    name: 'touch_key',
    text: `update auth.api_keys set last_used_at = now()
      where organization = $1 and key_id = $2 and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
    values: [organization, keyId],
  };
}

export interface NewApiKey {
  keyId: string;
  digest: Buffer;
  prefix: string;
  label: string;
  readOnly: boolean;
  expiresInSeconds: number;
}

export async function insertApiKey(query: Query, organization: string, key: NewApiKey): Promise<ApiKeyRow> {
  await query({
    name: 'insert_key_directory',
    text: 'insert into auth.key_directory (digest, organization, key_id) values ($1, $2, $3)',
    values: [key.digest, organization, key.keyId],
  });
  const [row] = await query<ApiKeyRow>({
    name: 'insert_api_key',
    text: `insert into auth.api_keys (organization, key_id, digest, prefix, label, read_only, expires_at)
      values ($1, $2, $3, $4, $5, $6, case when $7::bigint > 0 then now() + $7::bigint * interval '1 second' end) returning ${COLUMNS}`,
    values: [organization, key.keyId, key.digest, key.prefix, key.label, key.readOnly, key.expiresInSeconds],
  });
  return row!;
}

/** Newest first. */
export function listApiKeys(query: Query, organization: string): Promise<ApiKeyRow[]> {
  return query<ApiKeyRow>({
    name: 'list_api_keys',
    text: `select ${COLUMNS} from auth.api_keys where organization = $1 order by api_keys.created_at desc, key_id`,
    values: [organization],
  });
}

/** @returns undefined where there is no such key */
export async function revokeApiKey(query: Query, organization: string, keyId: string): Promise<ApiKeyRow | undefined> {
  const [row] = await query<ApiKeyRow>({
    name: 'revoke_api_key',
    text: `update auth.api_keys set revoked_at = coalesce(revoked_at, now()) where organization = $1 and key_id = $2 returning ${COLUMNS}`,
    values: [organization, keyId],
  });
  return row;
}
