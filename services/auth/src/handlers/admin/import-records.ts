import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Database, Query } from '@crs/kit/data/database';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import { byLine, importRpcs, type Line, readBatch, type RecordImport, refused as refusedLine } from '@crs/records/import-batch';
import type { Problem } from '@crs/records/import-record';
import { missing } from '@crs/records/missing-reference';
import type { CallContext } from '@crs/kit/rpc/server';
import { fold } from '@crs/kit/text';
import type { ImportLine } from '@crs/proto/crs/imports/v1/imports';
import type { Context } from '../../context.ts';
import { countOperatorAction } from '../../count-action.ts';
import { lineReader, type AuthRecord, type OrganizationRecord, type UserRecord } from '../../domain/import-records.ts';
import { beingDeleted } from '../../domain/not-found.ts';
import { hashPassword, passwordProblem } from '../../domain/password.ts';
import { changesOf, type OrganizationChange } from '../../domain/settings.ts';
import { operatorEntry } from '../../store/audit.ts';
import { endAccess } from '../../store/consents.ts';
import { findOrganization, insertOrganization, organizationExists, updateOrganization } from '../../store/organizations.ts';
import { findUser, findUsersByEmail, insertUser, setUserDisabled, updateUser, type UserRow } from '../../store/users.ts';
import { setsView, untilViewsFollow } from '../../view-settings.ts';

/** What became of a line. */
type Outcome = 'accepted' | 'unchanged' | Problem;

export function imports({ db }: Context) {
  // The entry of an import names the changed settings, so it is written with them.
  const record: RecordImport = async ({ counted, ...entry }, call) => {
    if (counted) await countOperatorAction(db, call.identity, entry);
  };
  const store = async (batch: ImportLine[], call: CallContext<'operator'>) => {
    const scope = callerScope(call);
    const { lines, errors } = await readBatch(batch, lineReader, scope);
    const passwords = await setPasswords(db, scope, lines, hashPassword);
    const { mayBeSeen, ...answer } = await db.transact(scope, async (query) => {
      let accepted = 0;
      let unchanged = 0;
      const disabled: string[] = [];
      const [before] = await query(findOrganization(scope.organization));
      let exists = before !== undefined;
      const store = (record: AuthRecord): Outcome | Promise<Outcome> => {
        if (record.type === 'user') return exists ? storeUser(query, record, passwords.hashes, disabled) : missing('organization', 'organization');
        return before || call.rights.organizations.length === 0 ? storeOrganization(query, record) : MAY_NOT_CREATE;
      };
      for (const { number, record } of lines) {
        const outcome = passwords.refused.get(number) ?? (await store(record));
        if (record.type === 'organization' && typeof outcome === 'string') exists = true;
        if (outcome === 'accepted') accepted++;
        else if (outcome === 'unchanged') unchanged++;
        else errors.push(refusedLine(number, outcome));
      }
      for (const email of disabled) await query(operatorEntry(call.identity, 'user.disable', email, { address: call.address }));
      const [after] = await query(findOrganization(scope.organization));
      const details = { address: call.address, changes: after ? changesOf(before, after) : {} };
      await query(operatorEntry(call.identity, 'auth.import', `${batch.length} lines`, details));
      return { accepted, unchanged, errors: byLine(errors), mayBeSeen: before !== undefined };
    });
    const setView = lines.some(({ record }) => record.type === 'organization' && setsView(changeOf(record)));
    if (mayBeSeen && setView) await untilViewsFollow();
    return answer;
  };
  const findProblems = async (lines: Line<AuthRecord>[], scope: Scope) => {
    const { refused } = await setPasswords(db, scope, lines, () => Promise.resolve(''));
    return [...refused].map(([number, problem]) => refusedLine(number, problem));
  };
  return importRpcs('auth', record, lineReader, store, findProblems);
}

const MAY_NOT_CREATE: Problem = { field: 'id', reason: 'must exist, because this operator may not create organizations' };

/** Hashes by folded e-mail. */
type Hashes = Map<string, string>;

/**
 * Checks and hashes the passwords that the import sets: those of users who have none. A hash takes long, so this happens before the
 * transaction, and side by side.
 * @returns the hashes, and the problems by line number
 */
async function setPasswords(
  db: Database,
  scope: Scope,
  lines: Line<AuthRecord>[],
  hash: (password: string) => Promise<string>,
): Promise<{ hashes: Hashes; refused: Map<number, Problem> }> {
  const refused = new Map<number, Problem>();
  const withPassword = lines.flatMap(({ number, record }) =>
    record.type === 'user' && record.password
      ? [{ number, ...record, folded: fold(record.email), password: record.password }]
      : [],
  );
  if (withPassword.length === 0) return { hashes: new Map(), refused };
  const { organization } = scope;
  const emails = withPassword.map(({ folded }) => folded);
  const [known, [stored]] = await Promise.all([
    db.read(scope, findUsersByEmail(organization, emails)),
    db.read(scope, organizationExists(organization)),
  ]);
  const done = new Set(known.filter(({ hasPassword }) => hasPassword).map(({ emailFolded }) => emailFolded));
  const hashing: Promise<readonly [string, string]>[] = [];
  for (const { number, folded, email, name, password } of withPassword) {
    // The first line sets the password; later lines find one.
    if (done.has(folded)) continue;
    // An estimate takes up to some milliseconds, for which nobody else must wait.
    await setImmediate();
    const reason = await passwordProblem(password, [organization, stored?.name, name, email]);
    if (reason) refused.set(number, { field: 'password', reason });
    else {
      done.add(folded);
      hashing.push(hash(password).then((hash) => [folded, hash] as const));
    }
  }
  return { hashes: new Map(await Promise.all(hashing)), refused };
}

function changeOf(record: OrganizationRecord): OrganizationChange {
  return {
    name: record.name,
    writeSurface: record.write_surface,
    anonymizeInterviewees: record.anonymize_interviewees,
    allowedFields: record.allowed_fields,
    rateLimitRequests: record.rate_limit?.requests,
    rateLimitPeriodSeconds: record.rate_limit?.period_seconds,
    toolRateLimitRequests: record.tool_rate_limit?.requests,
    toolRateLimitPeriodSeconds: record.tool_rate_limit?.period_seconds,
  };
}

async function storeOrganization(query: Query, record: OrganizationRecord): Promise<Outcome> {
  const change = changeOf(record);
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

/** @param disabled gets the e-mails of the users whom the record disables */
async function storeUser(query: Query, record: UserRecord, hashes: Hashes, disabled: string[]): Promise<Outcome> {
  const { organization, email } = record;
  const [before] = await query(findUser(organization, email));
  // An import sets a password only where there is none, so that it can't take over the account of a user who has signed in since.
  const passwordHash = before?.passwordHash ?? (record.password ? (hashes.get(fold(email)) ?? null) : null);
  const after = { email, name: record.name ?? before?.name ?? null, passwordHash };
  if (!before) {
    const [inserted] = await query(insertUser(organization, after));
    if (inserted && record.disabled) await disable(query, organization, inserted, disabled);
    if (inserted) return 'accepted';
    const [other] = await query(findUser(organization, email));
    if (!other) return beingDeleted('email');
    throw new ServiceError('aborted', 'Another import got in between; try again.');
  }
  const disables = record.disabled === true && before.disabledAt === null;
  if (!disables && before.email === after.email && before.name === after.name && before.passwordHash === after.passwordHash)
    return 'unchanged';
  await query(updateUser(organization, before.userId, after));
  if (disables) await disable(query, organization, before, disabled);
  return 'accepted';
}

async function disable(query: Query, organization: string, { userId, email }: UserRow, disabled: string[]): Promise<void> {
  await query(setUserDisabled(organization, email, true));
  await endAccess(query, organization, userId);
  disabled.push(email);
}
