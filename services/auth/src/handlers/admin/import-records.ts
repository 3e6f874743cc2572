import { isDeepStrictEqual } from 'node:util';
import type { Query } from '@crs/kit/database';
import { byLine, NO_ORGANIZATION, readBatch, refused } from '@crs/kit/import-batch';
import type { Refusal } from '@crs/kit/import-record';
import { rpc } from '@crs/kit/grpc-server';
import { operatorScope } from '@crs/kit/operator-scope';
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
import { putGrant } from '../../domain/project-grants.ts';
import { audit } from '../../store/audit.ts';
import {
  findOrganization,
  insertOrganization,
  organizationExists,
  updateOrganization,
  type OrganizationChange,
} from '../../store/organizations.ts';
import { findUser, insertUser, updateUser } from '../../store/users.ts';

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
  const grant = { projectId: record.id, createdBy: record.created_by, members: record.members };
  const outcome = await putGrant(query, record.organization, grant);
  return typeof outcome === 'boolean' ? (outcome ? 'accepted' : 'unchanged') : outcome;
}
