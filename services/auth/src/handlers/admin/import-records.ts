import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Database, Query } from '@crs/kit/data/database';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import {
  type BatchCall,
  type BatchMode,
  importRpcs,
  isCommitted,
  type NumberedRecord,
  readBatch,
  type RecordImport,
  refused as refusedLine,
  sortByLine,
  type Stored,
} from '@crs/records/import-batch';
import type { FieldError } from '@crs/records/import-record';
import { missing } from '@crs/records/missing-reference';
import { transactIf } from '@crs/records/transact-if';
import type { CallContext } from '@crs/kit/rpc/server';
import { fold } from '@crs/kit/text';
import type { RecordKeyActionRequest } from '@crs/proto/crs/auth/v1/auth';
import type { ImportLine } from '@crs/proto/crs/imports/v1/imports';
import type { Context } from '../../context.ts';
import { countKeyAction, countOperatorAction } from '../../count-action.ts';
import { lineReader, type AuthRecord, type OrganizationRecord, type UserRecord } from '../../domain/import-records.ts';
import { profileReader } from '../../domain/profile-lines.ts';
import { beingDeleted } from '../../domain/not-found.ts';
import { hashPassword, passwordProblem } from '../../domain/password.ts';
import { changesOf } from '../../domain/settings.ts';
import { operatorEntry } from '../../store/audit.ts';
import { endAccess } from '../../store/consents.ts';
import { findOrganization, insertOrganization, organizationExists, updateOrganization } from '../../store/organizations.ts';
import { findUser, findUsersByEmail, insertUser, setUserDisabled, updateUser, type UserRow } from '../../store/users.ts';
import { setsView, waitForViewCaches } from '../../view-settings.ts';

/** The result of a line. */
type Outcome = 'accepted' | 'created' | 'unchanged' | FieldError;

export function imports({ db }: Context) {
  // The entry of an import lists the changed settings, so the transaction below writes it.
  const record: RecordImport = async ({ counted, ...entry }, call) => {
    if (counted) await countOperatorAction(db, call.identity, entry);
  };
  const recordKeyAction = ({ address, count }: RecordKeyActionRequest, { identity }: CallContext<'organization'>) =>
    countKeyAction(db, identity, { action: 'records.write', address, count });
  const store = async (batch: ImportLine[], call: BatchCall, mode: BatchMode): Promise<Stored> => {
    const scope = callerScope(call);
    const { lines, errors } = await readBatch<AuthRecord>(batch, mode.rights ? profileReader : lineReader, scope, mode);
    const passwords = await hashPasswords(db, scope, lines, hashPassword);
    let existed = false;
    const work = async (query: Query) => {
      const counts = { accepted: 0, unchanged: 0, created: 0 };
      const [before] = await query(findOrganization(scope.organization));
      existed = before !== undefined;
      let exists = existed;
      const storeLine = (record: AuthRecord): Outcome | Promise<Outcome> => {
        if (record.type === 'user')
          return exists ? storeUser(query, record, passwords.hashes, call) : missing('organization', 'organization');
        return before || call.rights?.organizations.length === 0 ? storeOrganization(query, record) : MAY_NOT_CREATE;
      };
      for (const { number, record } of lines) {
        const outcome = passwords.refused.get(number) ?? (await storeLine(record));
        if (typeof outcome !== 'string') errors.push(refusedLine(number, outcome));
        else {
          if (record.type === 'organization') exists = true;
          counts[outcome === 'unchanged' ? 'unchanged' : 'accepted']++;
          if (outcome === 'created') counts.created++;
        }
      }
      if (call.identity.kind === 'operator') {
        const [after] = await query(findOrganization(scope.organization));
        const details = { address: call.address, changes: after ? changesOf(before, after) : {} };
        await query(operatorEntry(call.identity, 'auth.import', `${batch.length} lines`, details));
      }
      return { ...counts, errors: sortByLine(errors) };
    };
    const response = await transactIf(db, scope, work, (stored) => isCommitted(mode, stored));
    const viewSet = lines.some(({ record }) => record.type === 'organization' && setsView(record.change));
    if (existed && viewSet) await waitForViewCaches();
    return response;
  };
  const findProblems = async (lines: NumberedRecord<AuthRecord>[], scope: Scope) => {
    const { refused } = await hashPasswords(db, scope, lines, () => Promise.resolve(''));
    return [...refused].map(([number, problem]) => refusedLine(number, problem));
  };
  return importRpcs({ service: 'auth', record, recordKeyAction, reader: lineReader, store, findProblems });
}

const MAY_NOT_CREATE: FieldError = { field: 'id', reason: 'must exist, because this operator may not create organizations' };

/**
 * Checks and hashes the passwords of users who have none yet. Hashing is slow, so an import does this before its transaction, in parallel.
 * @returns the hashes by folded e-mail, and the problems by line number
 */
async function hashPasswords(
  db: Database,
  scope: Scope,
  lines: NumberedRecord<AuthRecord>[],
  hash: (password: string) => Promise<string>,
): Promise<{ hashes: Map<string, string>; refused: Map<number, FieldError> }> {
  const refused = new Map<number, FieldError>();
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
    // Later lines of the same user must not replace the password that the first one sets.
    if (done.has(folded)) continue;
    // An estimate takes up to 20 ms, so let other requests run in between.
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

async function storeOrganization(query: Query, { organization, change }: OrganizationRecord): Promise<Outcome> {
  const [inserted] = await query(insertOrganization(organization, change));
  if (inserted) return 'created';
  const [before] = await query(findOrganization(organization));
  if (!before) return beingDeleted('id');
  await updateOrganization(query, before, change);
  const [after] = await query(findOrganization(organization));
  return isDeepStrictEqual(before, after) ? 'unchanged' : 'accepted';
}

/** @param hashes by folded e-mail */
async function storeUser(query: Query, record: UserRecord, hashes: Map<string, string>, call: BatchCall): Promise<Outcome> {
  const { organization, email } = record;
  const [before] = await query(findUser(organization, email));
  // An import sets a password only if there is none, so that it can't take over the account of an existing user.
  const passwordHash = before?.passwordHash ?? (record.password ? (hashes.get(fold(email)) ?? null) : null);
  const after = { email, name: record.name ?? before?.name ?? null, passwordHash };
  if (!before) {
    const [inserted] = await query(insertUser(organization, after));
    if (inserted && record.disabled) await disable(query, organization, inserted, call);
    if (inserted) return 'created';
    const [other] = await query(findUser(organization, email));
    if (!other) return beingDeleted('email');
    throw new ServiceError('aborted', 'Another import got in between; try again.');
  }
  const disables = record.disabled === true && before.disabledBy !== 'operator';
  if (!disables && before.email === after.email && before.name === after.name && before.passwordHash === after.passwordHash)
    return 'unchanged';
  await query(updateUser(organization, before.userId, after));
  if (disables) await disable(query, organization, before, call);
  return 'accepted';
}

async function disable(query: Query, organization: string, { userId, email }: UserRow, call: BatchCall): Promise<void> {
  if (call.identity.kind !== 'operator') throw new Error('Only an operator may disable a user.');
  await query(setUserDisabled(organization, email, true));
  await endAccess(query, organization, userId);
  await query(operatorEntry(call.identity, 'user.disable', email, { address: call.address }));
}
