import { isDeepStrictEqual } from 'node:util';
import type { Database, Query } from '@crs/kit/data/database';
import { type Scope, callerScope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import { byLine, importRpc, type Line, NO_ORGANIZATION, readBatch, refused } from '@crs/kit/product/import-batch';
import type { Refusal } from '@crs/kit/product/import-record';
import { fold } from '@crs/kit/text';
import type { Context } from '../../context.ts';
import {
  authLine,
  type AuthRecord,
  type OrganizationRecord,
  type ProjectRecord,
  type UserRecord,
} from '../../domain/import-records.ts';
import { hashPassword } from '../../domain/password.ts';
import { beingDeleted, putGrant } from '../../domain/project-grants.ts';
import { audit } from '../../store/audit.ts';
import {
  findOrganization,
  insertOrganization,
  organizationExists,
  updateOrganization,
  type OrganizationChange,
} from '../../store/organizations.ts';
import { findEmailsWithPassword, findUser, insertUser, updateUser } from '../../store/users.ts';

/** What became of a line. */
type Outcome = 'accepted' | 'unchanged' | Refusal;

export function importRecords({ db }: Context) {
  return importRpc(async (request, call) => {
    const scope = callerScope(call);
    const { lines, errors } = await readBatch(request, authLine, scope.organization);
    const hashes = await hashPasswords(db, scope, lines);
    return db.transact(scope, async (query) => {
      let accepted = 0;
      let unchanged = 0;
      for (const { number, record } of lines) {
        const outcome = await store(query, record, hashes);
        if (outcome === 'accepted') accepted++;
        else if (outcome === 'unchanged') unchanged++;
        else errors.push(refused(number, outcome));
      }
      if (accepted > 0) await audit(query, call.identity, 'import', `${accepted} records`);
      return { accepted, unchanged, errors: byLine(errors) };
    });
  });
}

/** Hashes by folded e-mail. */
type Hashes = Map<string, string>;

/** Hashes the passwords that will be set, those of people who have none: before the transaction and side by side, because each takes long. */
async function hashPasswords(db: Database, scope: Scope, lines: Line<AuthRecord>[]): Promise<Hashes> {
  const passwords = new Map<string, string>();
  for (const { record } of lines) {
    if (record.type !== 'user' || !record.password) continue;
    // The first one counts: after it there is one.
    const email = fold(record.email);
    if (!passwords.has(email)) passwords.set(email, record.password);
  }
  if (passwords.size === 0) return new Map();
  const statement = findEmailsWithPassword(scope.organization, [...passwords.keys()]);
  for (const { emailFolded } of await db.read<{ emailFolded: string }>(scope, statement)) passwords.delete(emailFolded);
  return new Map(
    await Promise.all([...passwords].map(async ([email, password]) => [email, await hashPassword(password)] as const)),
  );
}

async function store(query: Query, record: AuthRecord, hashes: Hashes): Promise<Outcome> {
  if (record.type === 'organization') return storeOrganization(query, record);
  if (!(await organizationExists(query, record.organization))) return NO_ORGANIZATION;
  return record.type === 'user' ? storeUser(query, record, hashes) : storeProject(query, record);
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
  if (await insertOrganization(query, record.organization, change)) return 'accepted';
  const before = await findOrganization(query, record.organization);
  if (!before) return beingDeleted('id');
  await updateOrganization(query, record.organization, change);
  return isDeepStrictEqual(before, await findOrganization(query, record.organization)) ? 'unchanged' : 'accepted';
}

async function storeUser(query: Query, record: UserRecord, hashes: Hashes): Promise<Outcome> {
  const { organization, email } = record;
  const before = await findUser(query, organization, email);
  // A password is set only where there is none: an import can't take over who has signed in since.
  const passwordHash = before?.passwordHash ?? (record.password ? (hashes.get(fold(email)) ?? null) : null);
  const after = { email, name: record.name === undefined ? (before?.name ?? null) : record.name, passwordHash };
  if (!before) {
    if (await insertUser(query, organization, after)) return 'accepted';
    if (!(await findUser(query, organization, email))) return beingDeleted('email');
    throw new ServiceError('aborted', 'Another import got in between; try again.');
  }
  if (before.email === after.email && before.name === after.name && before.passwordHash === after.passwordHash)
    return 'unchanged';
  await updateUser(query, organization, before.userId, after);
  return 'accepted';
}

async function storeProject(query: Query, record: ProjectRecord): Promise<Outcome> {
  const grant = { projectId: record.id, createdBy: record.created_by, members: record.members };
  const outcome = await putGrant(query, record.organization, grant);
  return typeof outcome === 'boolean' ? (outcome ? 'accepted' : 'unchanged') : outcome;
}
