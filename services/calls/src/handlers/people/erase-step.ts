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
    const isErased = await erasedBefore(query, organization, current, calls);
    const due = calls.filter((each) => isDue(current, each) || isErased(each.callId)).map(({ callId }) => callId);
    const time = lock!.now;
    const advanced: ErasureRow = { ...current, reached: next, completedAt: next === null ? time : null };
    if (due.length > 0) {
      const erased = await eraseCalls(context, call, { query, connection, organization, time, current, person, due, isErased });
      advanced.held += erased.held;
      advanced.changed += erased.changed.length;
      advanced.deleted += erased.deleted.length;
      const touched = [...erased.changed, ...erased.deleted];
      await query(
        addErasedCalls(
          organization,
          row.erasureId,
          touched.map((callId) => digestOf('call', callId)),
        ),
      );
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

/** Returns whether a call was deleted by this erasure before the database was restored. Such a call may only have mentioned the person. */
async function erasedBefore(query: Query, organization: string, { kind, erasureId, salt }: ErasureRow, calls: CallSearch[]) {
  if (kind === 'person' || calls.length === 0) return () => false;
  const digestOf = digester(salt);
  const ids = new Map(calls.map(({ callId }) => [digestOf('call', callId), callId]));
  const found = await query(findErasedCalls(organization, erasureId, [...ids.keys()]));
  const erased = new Set(found.map(({ callDigest }) => ids.get(callDigest)));
  return (callId: string) => erased.has(callId);
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
}

/** Returns the ids of the calls that it changed and deleted, and the number of those that a legal hold keeps. */
async function eraseCalls(
  { auth }: RecordContext,
  call: CallContext<'operator'>,
  { query, connection, organization, time, current, person, due, isErased }: Due,
): Promise<{ changed: string[]; deleted: string[]; held: number }> {
  await query(discardPlans());
  const rows = await query(findCalls(organization, due));
  const holds = await findHolds(query, organization, due);
  const { emails } = await describe(rows, (request) => auth.describeReferences(request, call));
  const found = await findIn(rows, await linesOf(organization, rows, emails), person);
  const stillDue = found.filter((each) => isDue(current, each) || isErased(each.callId));
  const free = stillDue.filter(({ callId, projectId }) => holds.of(callId, projectId) === undefined);
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
  return { changed: changes.detailChanged, deleted: changes.deleted, held: stillDue.length - free.length };
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
