import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { DEFAULT_ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import type { AuditEntry, Operator, Organization, RegisteredClient, Token, User } from '@crs/proto/crs/auth/v1/admin';
import type { ApiKey } from '@crs/proto/crs/auth/v1/auth';
import { redirectUriOf } from './domain/oidc-provider.ts';
import type { ApiKeyRow } from './store/api-keys.ts';
import type { EntryRow } from './store/audit.ts';
import type { ClientRow } from './store/clients.ts';
import type { ConsentRow } from './store/consents.ts';
import type { OperatorRow } from './store/operators.ts';
import type { OrganizationRow } from './store/organizations.ts';
import type { UserRow } from './store/users.ts';

/** Stored rows as messages of the admin API. */

export function toOrganization(row: OrganizationRow, toolsUrl: string): Organization {
  return {
    organizationId: row.organization,
    name: row.name ?? '',
    writeSurface: row.writeSurface,
    anonymizeInterviewees: row.anonymizeInterviewees,
    allowedFields: { default: row.allowedFields === null, fields: row.allowedFields ?? [...DEFAULT_ALLOWED_FIELDS] },
    rateLimit: { requests: row.rateLimitRequests, periodSeconds: row.rateLimitPeriodSeconds },
    toolRateLimit: { requests: row.toolRateLimitRequests, periodSeconds: row.toolRateLimitPeriodSeconds },
    createdAt: row.createdAt,
    oidcProvider:
      row.oidcIssuer === null
        ? undefined
        : {
            issuer: row.oidcIssuer,
            clientId: row.oidcClientId!,
            hasClientSecret: row.oidcHasClientSecret,
            domains: row.oidcDomains!,
          },
    oidcRedirectUri: redirectUriOf(toolsUrl, row.organization),
  };
}

export function toUser(row: UserRow): User {
  return {
    userId: row.userId,
    email: row.email,
    name: row.name ?? '',
    disabled: row.disabledAt !== null,
    hasPassword: row.passwordHash !== null,
    createdAt: row.createdAt,
  };
}

export function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    keyId: row.keyId,
    prefix: row.prefix,
    label: row.label,
    readOnly: row.readOnly,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt ?? undefined,
    revokedAt: row.revokedAt ?? undefined,
    lastUsedAt: row.lastUsedAt ?? undefined,
  };
}

export function toOperator(row: OperatorRow): Operator {
  return {
    name: row.name,
    role: row.role,
    organizationIds: row.organizations,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt ?? undefined,
    revokedAt: row.revokedAt ?? undefined,
  };
}

export function toToken({ grantId, email, client, scopes, createdAt, expiresAt, revokedAt }: ConsentRow): Token {
  return { tokenId: grantId, email, client, scopes, createdAt, expiresAt, revokedAt: revokedAt ?? undefined };
}

export function toClient({ clientId, name, redirectUris, secretSealed, createdAt }: ClientRow): RegisteredClient {
  return { clientId, name, redirectUris, hasSecret: secretSealed !== null, createdAt };
}

export function toAuditEntry({ auditId, organization, changes, address, ...entry }: EntryRow): AuditEntry {
  return {
    ...entry,
    id: Number(auditId),
    organizationId: organization === EVERY_ORGANIZATION ? '' : organization,
    changes: Object.entries(changes ?? {}).map(([setting, { from, to }]) => ({
      setting,
      from: JSON.stringify(from),
      to: JSON.stringify(to),
    })),
    address: address ?? '',
  };
}
