import { isDeepStrictEqual } from 'node:util';
import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { toStatement, sql } from '@crs/kit/data/sql';
import type { RetainBy } from '@crs/records/retain';
import { noSuchOrganization } from '../domain/not-found.ts';
import type { OrganizationChange } from '../domain/settings.ts';
import { revokeOwnTokens } from './consents.ts';

const STORED = {
  organization: column.text,
  name: column.text.orNull,
  writeSurface: column.boolean,
  anonymizeInterviewees: column.boolean,
  allowedFields: column.textArray.orNull,
  rateLimitRequests: column.integer,
  rateLimitPeriodSeconds: column.integer,
  toolRateLimitRequests: column.integer,
  toolRateLimitPeriodSeconds: column.integer,
  deleteLimit: column.integer,
  retainCalls: column.text,
  retainBy: column.oneOf<RetainBy>(),
  retainPerDay: column.integer,
  clients: column.text,
  clientHosts: column.textArray,
  ownTokens: column.boolean,
  oidcIssuer: column.text.orNull,
  oidcClientId: column.text.orNull,
  oidcDomains: column.textArray.orNull,
  oidcEmailProof: column.text.orNull,
  assertionIssuers: column.textArray,
  createdAt: column.timestamp,
  suspendedAt: column.timestamp.orNull,
};
const ORGANIZATION = { ...STORED, oidcHasClientSecret: column.boolean };
export type OrganizationRow = column.RowOf<typeof ORGANIZATION>;

const COLUMNS = `${column.selectList(STORED)}, oidc_client_secret_encrypted is not null as "oidcHasClientSecret"`;

/** Locks the organization until the transaction ends. */
export function findOrganization(organization: string): Statement<OrganizationRow> {
  return {
    name: 'find_organization',
    row: ORGANIZATION,
    text: `select ${COLUMNS} from auth.organizations where organization = $1 and erasing_at is null for no key update`,
    values: [organization],
  };
}

const NAME = { name: column.text.orNull, createdAt: column.timestamp, isSuspended: column.boolean };

/** No row if the organization doesn't exist, or its deletion has begun. */
export function organizationExists(organization: string): Statement<column.RowOf<typeof NAME>> {
  return {
    name: 'organization_exists',
    row: NAME,
    text: `select name, created_at as "createdAt", suspended_at is not null as "isSuspended" from auth.organizations
      where organization = $1 and erasing_at is null`,
    values: [organization],
  };
}

const VERSION = { organization: column.text, version: column.integer };

/** Lists the organizations whose view settings changed after a time, with their versions. */
export function listSettingsVersions(since: Date): Statement<column.RowOf<typeof VERSION>> {
  return {
    name: 'list_settings_versions',
    row: VERSION,
    text: 'select organization, settings_version as version from auth.organizations where settings_changed_at > $1 and erasing_at is null',
    values: [since],
  };
}

/** @throws ServiceError not_found if the organization doesn't exist, or its deletion has begun */
export async function requireOrganization(query: Query, organization: string): Promise<column.RowOf<typeof NAME>> {
  const [found] = await query(organizationExists(organization));
  if (!found) throw noSuchOrganization();
  return found;
}

/** Changes nothing if the organization is suspended, or not, already. No row if it doesn't exist, or its deletion has begun. */
export function setSuspended(organization: string, suspended: boolean): Statement<OrganizationRow> {
  return {
    name: suspended ? 'suspend_organization' : 'resume_organization',
    row: ORGANIZATION,
    text: `update auth.organizations set suspended_at = ${suspended ? 'least(suspended_at, now())' : 'null'}
      where organization = $1 and erasing_at is null returning ${COLUMNS}`,
    values: [organization],
  };
}

const VIEW_SETTINGS = {
  allowedFields: column.textArray.orNull,
  anonymizeInterviewees: column.boolean,
  settingsVersion: column.integer,
  settingsChangedAt: column.timestamp,
};

/** No row once the organization's deletion has begun. */
export function findViewSettings(organization: string): Statement<column.RowOf<typeof VIEW_SETTINGS>> {
  return {
    name: 'find_view_settings',
    row: VIEW_SETTINGS,
    text: `select ${column.selectList(VIEW_SETTINGS)} from auth.organizations where organization = $1 and erasing_at is null`,
    values: [organization],
  };
}

const RETENTION = {
  retainCalls: column.text,
  retainBy: column.text,
  retainPerDay: column.integer,
  retainChangedAt: column.timestamp,
};

/** No row once the organization's deletion has begun. */
export function findRetention(organization: string): Statement<column.RowOf<typeof RETENTION>> {
  return {
    name: 'find_retention',
    row: RETENTION,
    text: `select ${column.selectList(RETENTION)} from auth.organizations where organization = $1 and erasing_at is null`,
    values: [organization],
  };
}

/** @param ids more than one take a scope of every organization */
export function listOrganizations(ids: readonly string[] | typeof EVERY_ORGANIZATION): Statement<OrganizationRow> {
  return {
    name: 'list_organizations',
    row: ORGANIZATION,
    text: `select ${COLUMNS} from auth.organizations
      where organization = any ($1::text[]) or $2 order by organization`,
    values: [ids === EVERY_ORGANIZATION ? [] : ids, ids === EVERY_ORGANIZATION],
  };
}

/** No row if the id is taken. */
export function insertOrganization(organization: string, change: OrganizationChange): Statement<{ organization: string }> {
  const insert = sql('auth.organizations')
    .insert({ organization, ...columnsOf(change) })
    .onConflict()
    .ignore()
    .returning('organization');
  return toStatement('insert_organization', insert, { organization: column.text });
}

/** Also ends tokens that users made, once they may no longer make them. @param before as {@link findOrganization} read and locked it */
export async function updateOrganization(query: Query, before: OrganizationRow, change: OrganizationChange): Promise<void> {
  const columns = columnsOf(change);
  if (Object.keys(columns).length === 0) return;
  // Followers of the change feed notice new view settings by their version.
  const version = changesView(before, change) && {
    settings_version: sql.raw('settings_version + 1'),
    settings_changed_at: new Date(),
  };
  const retention = changesRetention(before, change) && { retain_changed_at: new Date() };
  const { organization } = before;
  const update = sql('auth.organizations')
    .where({ organization, erasing_at: null })
    .update({ ...columns, ...version, ...retention });
  await query(toStatement('update_organization', update));
  if (before.ownTokens && change.ownTokens === false) await revokeOwnTokens(query, organization);
}

function changesView(before: OrganizationRow, { allowedFields, anonymizeInterviewees }: OrganizationChange): boolean {
  return (
    (allowedFields !== undefined && !isDeepStrictEqual(allowedFields, before.allowedFields)) ||
    (anonymizeInterviewees !== undefined && anonymizeInterviewees !== before.anonymizeInterviewees)
  );
}

function changesRetention(before: OrganizationRow, change: OrganizationChange): boolean {
  return (['retainCalls', 'retainBy', 'retainPerDay'] as const).some(
    (name) => change[name] !== undefined && change[name] !== before[name],
  );
}

function columnsOf(change: OrganizationChange): Record<string, unknown> {
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([property, value]) => [column.snakeCase(property), value]));
}
