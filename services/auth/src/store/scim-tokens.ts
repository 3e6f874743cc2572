import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';

/** Tokens with which an organization's directory uses SCIM. */

const SCIM_TOKEN = {
  tokenId: column.text,
  label: column.text,
  createdAt: column.timestamp,
  revokedAt: column.timestamp.orNull,
  lastUsedAt: column.timestamp.orNull,
};
export type ScimTokenRow = column.RowOf<typeof SCIM_TOKEN>;

const COLUMNS = column.selectList(SCIM_TOKEN);

/** Finds the organization of a token, in a table without row-level security. */
export function lookUpScimToken(digest: Buffer): Statement<{ organization: string; tokenId: string }> {
  return {
    name: 'look_up_scim_token',
    row: { organization: column.text, tokenId: column.text },
    text: 'select organization, token_id as "tokenId" from auth.scim_token_directory where digest = $1',
    values: [digest],
  };
}

/** No row once the token is revoked, or its organization is suspended or its deletion has begun. */
export function findLiveScimToken(organization: string, tokenId: string): Statement<{ usageIsStale: boolean }> {
  return {
    name: 'find_live_scim_token',
    row: { usageIsStale: column.boolean },
    text: `select (t.last_used_at is null or t.last_used_at < now() - interval '1 minute') as "usageIsStale"
      from auth.scim_tokens t join auth.organizations o using (organization)
      where t.organization = $1 and t.token_id = $2 and t.revoked_at is null
        and o.erasing_at is null and o.suspended_at is null`,
    values: [organization, tokenId],
  };
}

/** Writes at most once a minute, however many replicas see the token used. */
export function touchScimToken(organization: string, tokenId: string): Statement {
  return {
    name: 'touch_scim_token',
    text: `update auth.scim_tokens set last_used_at = now()
      where organization = $1 and token_id = $2 and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
    values: [organization, tokenId],
  };
}

interface NewScimToken extends Pick<ScimTokenRow, 'tokenId' | 'label'> {
  digest: Buffer;
}

/** @returns undefined if the digest is that of another token, maybe of another organization: the caller must then roll back */
export async function insertScimToken(
  query: Query,
  organization: string,
  token: NewScimToken,
): Promise<ScimTokenRow | undefined> {
  const [claimed] = await query({
    name: 'insert_scim_token_directory',
    row: { tokenId: column.text },
    text: `insert into auth.scim_token_directory (digest, organization, token_id) values ($1, $2, $3)
      on conflict do nothing returning token_id as "tokenId"`,
    values: [token.digest, organization, token.tokenId],
  });
  if (!claimed) return undefined;
  const [row] = await query({
    name: 'insert_scim_token',
    row: SCIM_TOKEN,
    text: `insert into auth.scim_tokens (organization, token_id, digest, label) values ($1, $2, $3, $4) returning ${COLUMNS}`,
    values: [organization, token.tokenId, token.digest, token.label],
  });
  return row;
}

export function listScimTokens(organization: string): Statement<ScimTokenRow> {
  return {
    name: 'list_scim_tokens',
    row: SCIM_TOKEN,
    text: `select ${COLUMNS} from auth.scim_tokens where organization = $1 order by scim_tokens.created_at desc, token_id`,
    values: [organization],
  };
}

/** No row if the organization has no such token. */
export function revokeScimToken(organization: string, tokenId: string): Statement<ScimTokenRow> {
  return {
    name: 'revoke_scim_token',
    row: SCIM_TOKEN,
    text: `update auth.scim_tokens set revoked_at = least(revoked_at, now())
      where organization = $1 and token_id = $2 returning ${COLUMNS}`,
    values: [organization, tokenId],
  };
}

const SCIM_TOKEN_DIGEST = {
  tokenId: column.text,
  digest: column.bytes,
  label: column.text,
  revokedAt: column.timestamp.orNull,
};
export type ScimTokenDigestRow = column.RowOf<typeof SCIM_TOKEN_DIGEST>;

/** In an order that is the same for the same tokens in another installation. */
export function listScimTokenDigests(organization: string): Statement<ScimTokenDigestRow> {
  return {
    name: 'list_scim_token_digests',
    row: SCIM_TOKEN_DIGEST,
    text: `select ${column.selectList(SCIM_TOKEN_DIGEST)} from auth.scim_tokens where organization = $1 order by label collate "C", digest`,
    values: [organization],
  };
}

export function renameScimToken(organization: string, tokenId: string, label: string): Statement {
  return {
    name: 'rename_scim_token',
    text: 'update auth.scim_tokens set label = $3 where organization = $1 and token_id = $2',
    values: [organization, tokenId, label],
  };
}
