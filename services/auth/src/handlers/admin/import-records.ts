import { isDeepStrictEqual } from 'node:util';
import type { Query } from '@crs/kit/database';
import { byLine, NO_ORGANIZATION, readBatch, refused } from '@crs/kit/import-batch';
import type { Refusal } from '@crs/kit/import-record';
import { rpc } from '@crs/kit/grpc-server';
import { operatorScope } from '@crs/kit/operator-scope';
import { compareCodePoints, fold } from '@crs/kit/text';
import type { ImportRecordsRequest, ImportRecordsResponse } from '@crs/proto/crs/imports/v1/imports';
import type { Context } from '../../context.ts';
import {
  authLine,
  type AuthRecord,
  type OrganizationRecord,
  type ProjectRecord,
  type UserRecord,
} from '../../domain/import-records.ts';
import { hashPassword } from '../../domain/password.ts';
import { audit } from '../../store/audit.ts';
import {
  findOrganization,
  insertOrganization,
  organizationExists,
  updateOrganization,
  type OrganizationChange,
} from '../../store/organizations.ts';
import { findProjectGrant, putProjectGrant, type ProjectGrant } from '../../store/projects.ts';
import { findUser, findUsersByEmail, insertUser, updateUser } from '../../store/users.ts';

/** What became of a line. */
type Outcome = 'accepted' | 'unchanged' | Refusal;

export function importRecords({ db }: Context) {
  return rpc(['operator'], async (request: ImportRecordsRequest, call): Promise<ImportRecordsResponse> => {
    const scope = operatorScope(call);
    const { lines, errors } = readBatch(request, authLine, scope.organization);
    return db.transact(scope, async (query) => {
      let accepted = 0;
      let unchanged = 0;
      for (const { number, record } of lines) {
        const outcome = await store(query, record);
        if (outcome === 'accepted') accepted++;
        else if (outcome === 'unchanged') unchanged++;
        else errors.push(refused(number, outcome));
      }
      if (accepted > 0) await audit(query, call.identity, 'import', `${accepted} records`);
      return { accepted, unchanged, errors: byLine(errors) };
    });
  });
}

async function store(query: Query, record: AuthRecord): Promise<Outcome> {
  if (record.type === 'organization') return storeOrganization(query, record);
  if (!(await organizationExists(query, record.organization))) return NO_ORGANIZATION;
  return record.type === 'user' ? storeUser(query, record) : storeProject(query, record);
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
  await updateOrganization(query, record.organization, change);
  return isDeepStrictEqual(before, await findOrganization(query, record.organization)) ? 'unchanged' : 'accepted';
}

async function storeUser(query: Query, record: UserRecord): Promise<Outcome> {
  const { organization, email } = record;
  const before = await findUser(query, organization, email);
  // A password is set only where there is none: an import can't take over who has signed in since.
  const hasNone = (before?.passwordHash ?? null) === null;
  const passwordHash = hasNone && record.password ? await hashPassword(record.password) : (before?.passwordHash ?? null);
  const after = { email, name: record.name === undefined ? (before?.name ?? null) : record.name, passwordHash };
  if (!before) {
    await insertUser(query, organization, after);
    return 'accepted';
  }
  if (before.email === after.email && before.name === after.name && before.passwordHash === after.passwordHash)
    return 'unchanged';
  await updateUser(query, organization, before.userId, after);
  return 'accepted';
}

async function storeProject(query: Query, record: ProjectRecord): Promise<Outcome> {
  const { organization } = record;
  const emails = [record.created_by, ...record.members.map((member) => member.email)].filter((email) => email !== null);
  const users = await findUsersByEmail(query, organization, emails.map(fold));
  const idOf = new Map(users.map((user) => [user.emailFolded, user.userId]));
  if (record.created_by !== null && !idOf.has(fold(record.created_by))) return nobody('created_by');
  const stranger = record.members.findIndex((member) => !idOf.has(fold(member.email)));
  if (stranger >= 0) return nobody(`members[${stranger}].email`);
  const grant: ProjectGrant = {
    projectId: record.id,
    createdBy: record.created_by === null ? null : idOf.get(fold(record.created_by))!,
    roles: record.members.map(({ email, role }) => ({ userId: idOf.get(fold(email))!, role })),
  };
  const before = await findProjectGrant(query, organization, record.id);
  if (before && isDeepStrictEqual(sorted(before), sorted(grant))) return 'unchanged';
  await putProjectGrant(query, organization, grant, before);
  return 'accepted';
}

function nobody(field: string): Refusal {
  return { field, reason: 'must be the e-mail of a user of this organization' };
}

function sorted(grant: ProjectGrant): ProjectGrant {
  return { ...grant, roles: grant.roles.toSorted((a, b) => compareCodePoints(`${a.userId} ${a.role}`, `${b.userId} ${b.role}`)) };
}
