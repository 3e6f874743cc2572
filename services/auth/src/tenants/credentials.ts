import { isDeepStrictEqual } from 'node:util';
import { randomBase62 } from '@crs/kit/api-key';
import { compareLists } from '../domain/compare-lists.ts';
import { parseRights } from '../domain/key-rights.ts';
import type { SettingChanges } from '../domain/settings.ts';
import type { TenantKey, TenantScimToken } from '../domain/tenant.ts';
import { insertApiKey, listKeyDigests, revokeApiKey, updateApiKey, type KeyDigestRow } from '../store/api-keys.ts';
import {
  insertScimToken,
  listScimTokenDigests,
  renameScimToken,
  revokeScimToken,
  type ScimTokenDigestRow,
} from '../store/scim-tokens.ts';
import { refused, toAdded, type Application } from './context.ts';

/** Keys and SCIM tokens, each of which the SHA-256 of its secret identifies. */

// One reason for all cases: whose key it is, or whether there is one, is nobody else's business.
const UNUSABLE = 'it belongs to another organization, or to a key that was revoked or has other rights. Use another key';
const UNUSABLE_TOKEN = 'it belongs to another organization, or to a token that was revoked. Use another one';

const digestOf = ({ sha256 }: { sha256: string }) => sha256;

export async function applyKeys(application: Application, desired: readonly TenantKey[]): Promise<void> {
  const { organization, query, audit, prune, changes } = application;
  const stored = (await query(listKeyDigests(organization))).map((row) => ({ ...row, sha256: row.digest.toString('hex') }));
  const listed = desired.map((key, i) => ({ ...key, field: `keys[${i}].sha256` }));
  const { added, changed, removed } = compareLists(listed, stored, digestOf, (key, before) => {
    if (before.revokedAt !== null || (key.rights && !isDeepStrictEqual(key.rights, before.rights)))
      throw refused(key.field, UNUSABLE);
    return keyChanges(key, before);
  });
  for (const { sha256, field, label = '', rights = parseRights([]), networks = [], expires_at: expiresAt = null } of added) {
    const keyId = `key_${randomBase62(16)}`;
    const prefix = `sha256:${sha256.slice(0, 8)}`;
    const key = { keyId, digest: Buffer.from(sha256, 'hex'), prefix, label, rights, networks, expiresInSeconds: 0, expiresAt };
    if (!(await insertApiKey(query, organization, key))) throw refused(field, UNUSABLE);
    await audit('key.create', keyId);
    const settings = toAdded({ rights, networks, expires_at: expiresAt });
    changes.push({ action: 'add', type: 'key', name: nameOf(label, sha256), settings });
  }
  for (const { desired: key, stored: before, changes: settings } of changed) {
    const { label = before.label, networks = before.networks } = key;
    const expiresAt = key.expires_at === undefined ? before.expiresAt : key.expires_at;
    await query(updateApiKey(organization, before.keyId, { label, networks, expiresAt }));
    await audit('key.update', before.keyId, settings);
    changes.push({ action: 'change', type: 'key', name: nameOf(before.label, before.sha256), settings });
  }
  if (!prune) return;
  for (const { keyId, label, sha256 } of removed.filter(isLive)) {
    await query(revokeApiKey(organization, keyId));
    await audit('key.revoke', keyId);
    changes.push({ action: 'remove', type: 'key', name: nameOf(label, sha256), settings: {} });
  }
}

function keyChanges(key: TenantKey, before: KeyDigestRow): SettingChanges {
  const expiresAt = key.expires_at;
  return {
    ...(key.label !== undefined && key.label !== before.label && { label: { from: before.label, to: key.label } }),
    ...(key.networks !== undefined &&
      !isDeepStrictEqual(key.networks, before.networks) && { networks: { from: before.networks, to: key.networks } }),
    ...(expiresAt !== undefined &&
      expiresAt?.getTime() !== before.expiresAt?.getTime() && { expires_at: { from: before.expiresAt, to: expiresAt } }),
  };
}

/** An expired key can't be used any more, so there is no need to revoke it. */
export function isLive({ revokedAt, expiresAt }: Pick<KeyDigestRow, 'revokedAt' | 'expiresAt'>): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt.getTime() > Date.now());
}

export async function applyScimTokens(application: Application, desired: readonly TenantScimToken[]): Promise<void> {
  const { organization, query, audit, prune, changes } = application;
  const stored = (await query(listScimTokenDigests(organization))).map((row) => ({ ...row, sha256: row.digest.toString('hex') }));
  const listed = desired.map((token, i) => ({ ...token, field: `scim_tokens[${i}].sha256` }));
  const { added, changed, removed } = compareLists(listed, stored, digestOf, (token, before) => {
    if (before.revokedAt !== null) throw refused(token.field, UNUSABLE_TOKEN);
    return labelChange(token, before);
  });
  for (const { sha256, field, label = '' } of added) {
    const tokenId = `scim_${randomBase62(16)}`;
    const token = { tokenId, digest: Buffer.from(sha256, 'hex'), label };
    if (!(await insertScimToken(query, organization, token))) throw refused(field, UNUSABLE_TOKEN);
    await audit('scim-token.create', tokenId);
    changes.push({ action: 'add', type: 'scim_token', name: nameOf(label, sha256), settings: {} });
  }
  for (const { desired: token, stored: before, changes: settings } of changed) {
    await query(renameScimToken(organization, before.tokenId, token.label!));
    await audit('scim-token.update', before.tokenId, settings);
    changes.push({ action: 'change', type: 'scim_token', name: nameOf(before.label, before.sha256), settings });
  }
  if (!prune) return;
  for (const { tokenId, label, sha256 } of removed.filter(({ revokedAt }) => revokedAt === null)) {
    await query(revokeScimToken(organization, tokenId));
    await audit('scim-token.revoke', tokenId);
    changes.push({ action: 'remove', type: 'scim_token', name: nameOf(label, sha256), settings: {} });
  }
}

function labelChange({ label }: TenantScimToken, before: ScimTokenDigestRow): SettingChanges {
  return label === undefined || label === before.label ? {} : { label: { from: before.label, to: label } };
}

/** Names a key by its label and enough of its digest to recognize it. */
function nameOf(label: string, sha256: string): string {
  const digest = `sha256:${sha256.slice(0, 8)}`;
  return label === '' ? digest : `${label} ${digest}`;
}
