import { isDeepStrictEqual } from 'node:util';
import type { Database, Query } from '@crs/kit/data/database';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import { byLine, importRpc, type Line, NO_ORGANIZATION, readBatch, refused } from '@crs/kit/product/import-batch';
import type { Problem } from '@crs/kit/product/import-record';
import { fold } from '@crs/kit/text';
import type { Context } from '../../context.ts';
import { authLine, type AuthRecord, type OrganizationRecord, type UserRecord } from '../../domain/import-records.ts';
import { beingDeleted } from '../../domain/not-found.ts';
import { hashPassword } from '../../domain/password.ts';
import { changesOf } from '../../domain/setting-changes.ts';
import type { OrganizationChange } from '../../domain/settings.ts';
import { operatorEntry } from '../../store/audit.ts';
import { findOrganization, insertOrganization, organizationExists, updateOrganization } from '../../store/organizations.ts';
import { findEmailsWithPassword, findUser, insertUser, updateUser } from '../../store/users.ts';

/** What became of a line. */
type Outcome = 'accepted' | 'unchanged' | Problem;

export function importRecords({ db }: Context) {
  // The entry in the audit trail names the changed settings, so it is written with them.
  const recordedBelow = () => Promise.resolve();
  return importRpc('auth', recordedBelow, async (request, call) => {
    const scope = callerScope(call);
    const { lines, errors } = await readBatch(request, authLine, scope.organization);
    const hashes = await hashPasswords(db, scope, lines);
    return db.transact(scope, async (query) => {
      let accepted = 0;
      let unchanged = 0;
      const [before] = await query(findOrganization(scope.organization));
      for (const { number, record } of lines) {
        const outcome =
          record.type === 'organization' && !before && call.rights.organizations.length > 0
            ? MAY_NOT_CREATE
            : await store(query, record, hashes);
        if (outcome === 'accepted') accepted++;
        else if (outcome === 'unchanged') unchanged++;
        else errors.push(refused(number, outcome));
      }
      const [after] = await query(findOrganization(scope.organization));
      const details = { address: call.address, changes: after ? changesOf(before, after) : {} };
      await query(operatorEntry(call.identity, 'auth.import', `${request.lines.length} lines`, details));
      return { accepted, unchanged, errors: byLine(errors) };
    });
  });
}

const MAY_NOT_CREATE: Problem = { field: 'id', reason: 'must exist, because this operator may not create organizations' };

/** Hashes by folded e-mail. */
type Hashes = Map<string, string>;

/**
 * Hashes the passwords that the import sets: those of users who have none. A hash takes long, so this happens before the transaction, and
 * side by side.
 */
async function hashPasswords(db: Database, scope: Scope, lines: Line<AuthRecord>[]): Promise<Hashes> {
  const passwords = new Map<string, string>();
  for (const { record } of lines) {
    if (record.type !== 'user' || !record.password) continue;
    // The first line sets the password; later lines find one.
    const email = fold(record.email);
    if (!passwords.has(email)) passwords.set(email, record.password);
  }
  if (passwords.size === 0) return new Map();
  const known = await db.read(scope, findEmailsWithPassword(scope.organization, [...passwords.keys()]));
  for (const { emailFolded } of known) passwords.delete(emailFolded);
  return new Map(
    await Promise.all([...passwords].map(async ([email, password]) => [email, await hashPassword(password)] as const)),
  );
}

async function store(query: Query, record: AuthRecord, hashes: Hashes): Promise<Outcome> {
  if (record.type === 'organization') return storeOrganization(query, record);
  const [known] = await query(organizationExists(record.organization));
  return known ? storeUser(query, record, hashes) : NO_ORGANIZATION;
}

async function storeOrganization(query: Query, record: OrganizationRecord): Promise<Outcome> {
  const change: OrganizationChange = {
    name: record.name,
    writeSurface: record.write_surface,
    anonymizeInterviewees: record.anonymize_interviewees,
    allowedFields: record.allowed_fields,
    rateLimitRequests: record.rate_limit?.requests,
    rateLimitPeriodSeconds: record.rate_limit?.period_seconds,
    toolRateLimitRequests: record.tool_rate_limit?.requests,
    toolRateLimitPeriodSeconds: record.tool_rate_limit?.period_seconds,
  };
  const [inserted] = await query(insertOrganization(record.organization, change));
  if (inserted) return 'accepted';
  const [before] = await query(findOrganization(record.organization));
  if (!before) return beingDeleted('id');
  const update = updateOrganization(record.organization, change);
  if (!update) return 'unchanged';
  await query(update);
  const [after] = await query(findOrganization(record.organization));
  return isDeepStrictEqual(before, after) ? 'unchanged' : 'accepted';
}

async function storeUser(query: Query, record: UserRecord, hashes: Hashes): Promise<Outcome> {
  const { organization, email } = record;
  const [before] = await query(findUser(organization, email));
  // An import sets a password only where there is none, so that it can't take over the account of a user who has signed in since.
  const passwordHash = before?.passwordHash ?? (record.password ? (hashes.get(fold(email)) ?? null) : null);
  const after = { email, name: record.name === undefined ? (before?.name ?? null) : record.name, passwordHash };
  if (!before) {
    const [inserted] = await query(insertUser(organization, after));
    if (inserted) return 'accepted';
    const [other] = await query(findUser(organization, email));
    if (!other) return beingDeleted('email');
    throw new ServiceError('aborted', 'Another import got in between; try again.');
  }
  if (before.email === after.email && before.name === after.name && before.passwordHash === after.passwordHash)
    return 'unchanged';
  await query(updateUser(organization, before.userId, after));
  return 'accepted';
}
