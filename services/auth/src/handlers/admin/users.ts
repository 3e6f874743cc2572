import { invalid, ServiceError } from '@crs/kit/errors';
import { isEmail } from '@crs/kit/text';
import type { User } from '@crs/proto/crs/auth/v1/admin';
import { noSuchUser } from '../../domain/not-found.ts';
import { hashNewPassword } from '../../domain/password.ts';
import { requireText } from '../../domain/settings.ts';
import { accountOf } from '../../sign-in/passwords.ts';
import { resetTries, PASSWORDS_OF_ACCOUNT } from '../../sign-in/throttle.ts';
import { endAccess, revokeConsentsOfUser } from '../../store/consents.ts';
import { changeProfile } from '../../change-profile.ts';
import { deleteIdentities } from '../../store/identities.ts';
import { findOidcProvider } from '../../store/oidc-providers.ts';
import { requireOrganization } from '../../store/organizations.ts';
import {
  endSessions,
  insertUser,
  listUsers,
  requireUser,
  setPassword,
  setUserDisabled,
  type UserRow,
} from '../../store/users.ts';
import { inTransaction, type OperatorRpcs } from './operator-rpcs.ts';

export const users = {
  createUser: {
    access: { action: 'user.create', roles: ['admin', 'manager'], token: 'one', bound: true },
    async handle(request, { organization, transact }) {
      const email = requireEmail('email', request.email);
      const name = requireText('name', request.name, 1, 200);
      let passwordHash: string | null = null;
      if (request.password !== '') {
        // Hashing is slow, so it happens outside the transaction.
        const { name: organizationName } = await transact((query) => requireOrganization(query, organization));
        passwordHash = await hashNewPassword(request.password, [organization, organizationName, name, email]);
      }
      return transact(async (query, audit) => {
        await requireOrganization(query, organization);
        const [user] = await query(insertUser(organization, { email, name, passwordHash }));
        if (!user) throw emailTaken('email');
        await audit('user.create', user.email);
        return { user: toUser(user) };
      });
    },
  },
  listUsers: {
    access: { action: 'user.list', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true },
    handle: inTransaction(async (_request, { organization, query }) => {
      await requireOrganization(query, organization);
      return { users: (await query(listUsers(organization))).map(toUser) };
    }),
  },
  updateUser: {
    access: { action: 'user.update', roles: ['admin', 'manager'], token: 'one', bound: true },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const before = await requireUser(query, organization, request.email);
      const email = request.newEmail === undefined ? before.email : requireEmail('new_email', request.newEmail);
      const name = request.name === undefined ? before.name : requireText('name', request.name, 1, 200);
      const changed = await changeProfile(query, organization, before, { email, name });
      if (!changed) throw emailTaken('new_email');
      await audit('user.update', before.email, changed.changes);
      return { user: toUser(changed.user) };
    }),
  },
  setUserDisabled: {
    access: { action: 'user.disable', roles: ['admin', 'manager'], token: 'one', bound: true },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const email = requireText('email', request.email, 3, 254);
      const [user] = await query(setUserDisabled(organization, email, request.disabled));
      if (!user) throw noSuchUser();
      if (request.disabled) await endAccess(query, organization, user.userId);
      await audit(request.disabled ? 'user.disable' : 'user.enable', user.email);
      return { user: toUser(user) };
    }),
  },
  setUserPassword: {
    access: { action: 'user.set-password', roles: ['admin', 'manager'], token: 'one', bound: true },
    async handle(request, { organization, transact }) {
      // Hashing is slow, so it happens outside the transaction.
      const { organizationName, userId, name, email } = await transact(async (query) => {
        const user = await requireUser(query, organization, request.email);
        return { ...user, organizationName: (await requireOrganization(query, organization)).name };
      });
      const passwordHash = await hashNewPassword(request.password, [organization, organizationName, name, email]);
      return transact(async (query, audit) => {
        const [user] = await query(setPassword(organization, userId, passwordHash));
        if (!user) throw noSuchUser();
        await query(endSessions(organization, userId));
        const endedConnections = request.endConnections ? await revokeConsentsOfUser(query, organization, userId) : 0;
        // The user may have reached the limit of attempts with forgotten passwords.
        await query(resetTries(PASSWORDS_OF_ACCOUNT, accountOf({ organization, email })));
        await audit('user.set-password', user.email);
        const [provider] = await query(findOidcProvider(organization));
        return { user: toUser(user), endedConnections, oidcIssuer: provider?.issuer ?? '' };
      });
    },
  },
  endUserSessions: {
    access: { action: 'user.end-sessions', roles: ['admin', 'manager'], token: 'one', bound: true },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const user = await requireUser(query, organization, request.email);
      const endedConnections = await endAccess(query, organization, user.userId);
      await audit('user.end-sessions', user.email);
      return { user: toUser(user), endedConnections };
    }),
  },
  unlinkUser: {
    access: { action: 'user.unlink', roles: ['admin', 'manager'], token: 'one', bound: true },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const user = await requireUser(query, organization, request.email);
      await query(deleteIdentities(organization, user.userId));
      await audit('user.unlink', user.email);
      return { user: toUser(user) };
    }),
  },
} satisfies Partial<OperatorRpcs>;

function requireEmail(field: string, text: string): string {
  const email = requireText(field, text, 3, 254);
  if (!isEmail(email)) throw invalid(field, 'must be of the form local@domain');
  return email;
}

function emailTaken(field: string): ServiceError {
  return new ServiceError('already_exists', 'A user of this organization has this e-mail.', { field });
}

function toUser({ userId, email, name, disabledAt, disabledBy, externalId, passwordHash, createdAt }: UserRow): User {
  return {
    userId,
    email,
    name: name ?? '',
    disabled: disabledAt !== null,
    disabledBy: disabledBy ?? '',
    hasPassword: passwordHash !== null,
    externalId: externalId ?? '',
    createdAt,
  };
}
