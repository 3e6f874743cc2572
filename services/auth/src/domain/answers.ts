import type { Operator, RegisteredClient, Token, User } from '@crs/proto/crs/auth/v1/admin';
import type { ApiKey } from '@crs/proto/crs/auth/v1/auth';
import type { ApiKeyRow } from '../store/api-keys.ts';
import type { ClientRow } from '../store/clients.ts';
import type { GrantRow } from '../store/grants.ts';
import type { OperatorRow } from '../store/operators.ts';
import type { UserRow } from '../store/users.ts';

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
  return { name: row.name, createdAt: row.createdAt, revokedAt: row.revokedAt ?? undefined };
}

export function toToken({ grantId, email, client, scopes, createdAt, expiresAt, revokedAt }: GrantRow): Token {
  return { tokenId: grantId, email, client, scopes, createdAt, expiresAt, revokedAt: revokedAt ?? undefined };
}

export function toClient({ clientId, name, redirectUris, secretSealed, createdAt }: ClientRow): RegisteredClient {
  return { clientId, name, redirectUris, hasSecret: secretSealed !== null, createdAt };
}
