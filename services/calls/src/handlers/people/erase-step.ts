import type { Query } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import type { CallContext } from '@crs/kit/rpc/server';
import { parseInTurn, type NumberedRecord } from '@crs/records/import-batch';
import { lockImports } from '@crs/records/lock-imports';
import type { RecordContext } from '@crs/records/record-service';
import type { PoolClient } from 'pg';
import type { CallDeletion } from '../../domain/call-record.ts';
import { changesOf, type PreparedCall, type ResolvedCall, type StagedCall } from '../../domain/changes.ts';
import { digester, type Person } from '../../domain/person/person.ts';
import { addErasedCalls, advanceErasure, findErasedCalls, findErasure, type ErasureRow } from '../../store/erasures.ts';
import { findCalls } from '../../store/export-calls.ts';
import { feed } from '../../store/feed.ts';
import { findHolds } from '../../store/holds.ts';
import {
  deleteCalls,
  discardPlans,
  findStored,
  moveDays,
  stageCalls,
  writeCalls,
  type StagedRow,
} from '../../store/import-calls.ts';
import { lineReader } from '../../store/prepare-call.ts';
import { describe, linesOf } from '../export-lines.ts';
import { resolve } from '../resolve-references.ts';
import { findIn, searchPage, type CallSearch } from './search.ts';

/** The same bound as an import's, because pollers by `updated_since` rely on it. */
const MAX_TRANSACTION_MS = 30_000;

const NOTHING_SUPPOSED = { emails: [], projectIds: [], billingOffices: [] };

interface Step {
  row: ErasureRow;
  /** The number of calls that were searched. */
  read: number;
}

/**
 * Erases the person from the next page of calls. Searches without a lock, because most pages have nobody; then reads what it found again under the
 * lock that imports take, and erases that in one transaction.
 */
export async function eraseStep(
  context: RecordContext,
  call: CallContext<'operator'>,
  scope: Scope,
  row: ErasureRow,
  person: Person,
): Promise<Step> {
  const { organization } = scope;
  const { calls, next } = await searchPage(context, scope, row.reached ?? '', person);
  const digestOf = digester(row.salt);
  const deadline = Math.min(scope.deadline, Date.now() + MAX_TRANSACTION_MS);
  return context.importDb.transact({ ...scope, deadline }, async (query, connection) => {
    const [lock] = await query(lockImports('calls', organization));
    const [current] = await query(findErasure(organization, row.erasureId, 'lock'));
    if (!current) throw new ServiceError('aborted', 'The erasure was deleted with its organization.');
    // Another request has continued the erasure meanwhile.
    if (current.reached !== row.reached) return { row: current, read: 0 };
    const recorded = await recordedBefore(query, organization, current, person, calls);
    const isErased = (callId: string) => current.kind === 'calls' && recorded.get(callId) === false;
    const isKept = (callId: string) => recorded.get(callId) === true;
    const due = calls.filter((each) => isDue(current, each) || isErased(each.callId)).map(({ callId }) => callId);
    const time = lock!.now;
    const advanced: ErasureRow = { ...current, reached: next, completedAt: next === null ? time : null };
    if (due.length > 0) {
      const erased = await eraseCalls(context, call, {
        query,
        connection,
        organization,
        time,
        current,
        person,
        due,
        isErased,
        isKept,
      });
      advanced.held += erased.held.length;
      advanced.changed += erased.changed.length;
      advanced.deleted += erased.deleted.length;
      const touched = [...erased.changed, ...erased.deleted];
      const digests = (callIds: string[]) => callIds.map((callId) => digestOf('call', callId));
      await query(addErasedCalls(organization, row.erasureId, digests(touched), false));
      await query(addErasedCalls(organization, row.erasureId, digests(erased.held), true));
      await query(advanceErasure(organization, advanced));
      const moved = [
        ...erased.changed.map((recordId) => ({ recordId, changedAt: time, deleted: false })),
        ...erased.deleted.map((recordId) => ({ recordId, changedAt: time, deleted: true })),
      ];
      // The transaction's last work.
      await feed.append(query, organization, moved, time);
    } else await query(advanceErasure(organization, advanced));
    return { row: advanced, read: calls.length };
  });
}

function isDue({ kind }: ErasureRow, { fields, mentions }: CallSearch): boolean {
  return fields.length > 0 || (kind === 'calls' && mentions.length > 0);
}

/**
 * Returns the calls that an erasure of the ledger had before the database was restored, and whether a legal hold kept them. A call that it deleted may only
 * have mentioned the person. One that a hold kept stays, because the hold may be lost.
 */
async function recordedBefore(
  query: Query,
  organization: string,
  { erasureId, salt }: ErasureRow,
  person: Person,
  calls: CallSearch[],
): Promise<Map<string, boolean>> {
  if (!('salt' in person) || calls.length === 0) return new Map();
  const digestOf = digester(salt);
  const ids = new Map(calls.map(({ callId }) => [digestOf('call', callId), callId]));
  const found = await query(findErasedCalls(organization, erasureId, [...ids.keys()]));
  return new Map(found.map(({ callDigest, held }) => [ids.get(callDigest)!, held]));
}

interface Due {
  query: Query;
  connection: PoolClient;
  organization: string;
  time: Date;
  current: ErasureRow;
  person: Person;
  /** Ids of calls. */
  due: string[];
  isErased: (callId: string) => boolean;
  isKept: (callId: string) => boolean;
}

/** Returns the ids of the calls that it changed and deleted, and of those that a legal hold keeps. */
async function eraseCalls(
  { auth }: RecordContext,
  call: CallContext<'operator'>,
  { query, connection, organization, time, current, person, due, isErased, isKept }: Due,
): Promise<{ changed: string[]; deleted: string[]; held: string[] }> {
  await query(discardPlans());
  const rows = await query(findCalls(organization, due));
  const holds = await findHolds(query, organization, due);
  const { emails } = await describe(rows, (request) => auth.describeReferences(request, call));
  const found = await findIn(rows, await linesOf(organization, rows, emails), person);
  const stillDue = found.filter((each) => isDue(current, each) || isErased(each.callId));
  const isHeld = ({ callId, projectId }: CallSearch) => isKept(callId) || holds.of(callId, projectId) !== undefined;
  const [free, held] = [stillDue.filter((each) => !isHeld(each)), stillDue.filter(isHeld)];
  const records =
    current.kind === 'calls'
      ? free.map(({ callId }) => deletion(organization, callId))
      : await changedCalls(auth, call, query, connection, free);
  const stored = await query(
    findStored(
      organization,
      records.map(({ callId }) => callId),
    ),
  );
  const changes = changesOf(stored, records, time);
  if (changes.deleted.length > 0) await query(deleteCalls(organization, changes.deleted));
  if (changes.writes.length > 0) await writeCalls(query, connection, organization, changes);
  await moveDays(query, organization, changes.days);
  return { changed: changes.detailChanged, deleted: changes.deleted, held: held.map(({ callId }) => callId) };
}

function deletion(organization: string, callId: string): CallDeletion {
  return { deleted: true, organization, callId };
}

/** Prepares the calls without the person, as an import of their lines would. */
async function changedCalls(
  auth: RecordContext['auth'],
  call: CallContext<'operator'>,
  query: Query,
  connection: PoolClient,
  found: CallSearch[],
): Promise<ResolvedCall[]> {
  const lines: NumberedRecord<StagedCall>[] = [];
  const rows: StagedRow[] = [];
  for (const { callId, erased } of found) {
    if (erased === null) continue;
    const parsed = await parseInTurn(lineReader, erased);
    // A line that an export writes is a whole record.
    if (!('record' in parsed)) throw new ServiceError('failed_precondition', `Call ${callId}: ${parsed.field} ${parsed.reason}.`);
    const { row, ...record } = parsed.record as PreparedCall;
    const position = rows.length;
    rows.push({ position, row });
    // The call isn't what any line says.
    lines.push({ number: position, record: { ...record, position, lineHash: null } });
  }
  if (rows.length > 0) await stageCalls(query, connection, rows);
  const { known, unknown } = await resolve(lines, (request) => auth.resolveReferences(request, call), NOTHING_SUPPOSED);
  const [refused] = unknown;
  if (refused) {
    const { callId } = lines[refused.line]!.record;
    const message = `Call ${callId}: ${refused.field} ${refused.reason}. If a deletion is under way, finish it, then erase again.`;
    throw new ServiceError('failed_precondition', message);
  }
  return known.map(({ record }) => record as ResolvedCall);
}
