import { hash } from 'node:crypto';
import { invalid, REASONS, ServiceError } from '@crs/kit/errors';
import { fold } from '@crs/kit/text';
import type { OidcProviderSettings } from '@crs/proto/crs/auth/v1/admin';
import { changeOrganization, createOrganization } from '../change-organization.ts';
import { findRepeated } from '../domain/compare-lists.ts';
import type { SettingChanges } from '../domain/settings.ts';
import type { Tenant } from '../domain/tenant.ts';
import { findOidcProvider } from '../store/oidc-providers.ts';
import { findOrganization } from '../store/organizations.ts';
import { refused, type Application } from './context.ts';
import { applyKeys, applyScimTokens } from './credentials.ts';
import { applyGroupMaps, keyOfMap } from './group-maps.ts';
import { applyUsers } from './users.ts';

/**
 * Brings an organization to a desired state. What the state doesn't name stays.
 * @param clientSecret the content of `oidc.client_secret_file`
 * @throws ServiceError that names the field of the state
 */
export async function applyTenant(application: Application, tenant: Tenant, clientSecret: string | undefined): Promise<void> {
  requireDistinct(tenant);
  await applyOrganization(application, tenant, clientSecret);
  if (tenant.keys) await applyKeys(application, tenant.keys);
  if (tenant.scim_tokens) await applyScimTokens(application, tenant.scim_tokens);
  if (tenant.group_maps) await applyGroupMaps(application, tenant.group_maps);
  if (tenant.users) await applyUsers(application, tenant.users);
}

/** A plan with the same id makes the same changes. */
export function planIdOf({ changes }: Application): string {
  return hash('sha256', JSON.stringify(changes), 'base64url');
}

function requireDistinct({ keys = [], scim_tokens: tokens = [], group_maps: maps = [], users = [] }: Tenant): void {
  const refuse = (list: string, index: number | undefined, field: string) => {
    if (index !== undefined) throw invalid(`${list}[${index}]${field}`, 'is in the file twice');
  };
  refuse('keys', findRepeated(keys, ({ sha256 }) => sha256), '.sha256'); // prettier-ignore
  const repeated = findRepeated([...keys, ...tokens], ({ sha256 }) => sha256);
  refuse('scim_tokens', repeated && repeated - keys.length, '.sha256');
  refuse(
    'group_maps',
    findRepeated(maps, ({ group, project_id: projectId, role }) => keyOfMap({ group, projectId, role })),
    '',
  );
  refuse('users', findRepeated(users, ({ email }) => fold(email)), '.email'); // prettier-ignore
}

async function applyOrganization(application: Application, tenant: Tenant, clientSecret: string | undefined): Promise<void> {
  const { organization, rights, query, audit, changes } = application;
  const [before] = await query(findOrganization(organization));
  if (!before && rights.organizations.length > 0) throw mayNotCreate();
  const { change, assertionIssuers } = tenant;
  const settings = {
    change,
    oidcProvider: await providerSettings(application, tenant.oidc, clientSecret),
    assertionIssuers: assertionIssuers && { issuers: assertionIssuers },
  };
  const record = async (action: 'add' | 'change', changed: SettingChanges, issuer: string | null) => {
    await audit(action === 'add' ? 'organization.create' : 'organization.update', organization, changed);
    // The provider decides who may sign in, so its change has an entry of its own.
    if (Object.keys(changed).some((name) => name.startsWith('oidc_')) && (before || issuer))
      await audit('organization.oidc', `${organization} ${issuer ?? 'none'}`);
    changes.push({ action, type: 'organization', name: organization, settings: changed });
  };
  try {
    if (!before) {
      const result = await createOrganization(query, application, settings);
      if (!result) throw refused('id', 'is being deleted; run its deletion again first');
      return await record('add', result.changes, result.created.oidcIssuer);
    }
    const { after, changes: changed } = await changeOrganization(query, application, before, settings);
    if (Object.keys(changed).length > 0) await record('change', changed, after.oidcIssuer);
  } catch (error) {
    throw error instanceof ServiceError ? inState(error) : error;
  }
}

/** Leaves out a client secret that is stored already, so that it isn't reported as changed. */
async function providerSettings(
  { organization, query, encrypters }: Application,
  desired: Tenant['oidc'],
  clientSecret: string | undefined,
): Promise<OidcProviderSettings | undefined> {
  if (desired === undefined) return undefined;
  if (desired === 'none') return { issuer: '', domains: [] };
  const { issuer, client_id: clientId, client_secret_file: file, domains = [], email_proof: emailProof } = desired;
  if ((file === undefined) !== (clientSecret === undefined))
    throw invalid('oidc.client_secret_file', 'must be sent with its content');
  const [stored] = await query(findOidcProvider(organization));
  const isSameClient = stored && stored.issuer === (issuer ?? stored.issuer) && stored.clientId === (clientId ?? stored.clientId);
  const encrypted = isSameClient ? stored.clientSecretEncrypted : null;
  const isStored = encrypted !== null && encrypters.organizations.decrypt(encrypted, organization).toString() === clientSecret;
  return { issuer, clientId, clientSecret: isStored ? undefined : clientSecret, domains, emailProof };
}

function mayNotCreate(): ServiceError {
  const message = 'id: must exist, because this operator is bound to organizations and may not create any';
  return new ServiceError('permission_denied', message, { field: 'id', reason: REASONS.operatorBound });
}

const FIELDS: Record<string, string> = {
  oidc_issuer: 'oidc.issuer',
  oidc_client_id: 'oidc.client_id',
  oidc_client_secret: 'oidc.client_secret_file',
  oidc_domains: 'oidc.domains',
  oidc_email_proof: 'oidc.email_proof',
};

/** Names a setting as the state does. */
function inState(error: ServiceError): ServiceError {
  const { kind, message, reason, field = '' } = error;
  const path = FIELDS[field];
  return path ? new ServiceError(kind, path + message.slice(field.length), { field: path, reason, cause: error.cause }) : error;
}
