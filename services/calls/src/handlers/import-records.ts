import type { Database, Query } from '@crs/kit/data/database';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { isMerge, type Merge } from '@crs/records/merge';
import {
  type BatchCall,
  type BatchMode,
  checkSize,
  importRpcs,
  isCommitted,
  isRefused,
  type NumberedRecord,
  readBatch,
  sortByLine,
  type Stored,
} from '@crs/records/import-batch';
import { MovedRecords } from '@crs/records/feed/moved';
import { lockImports } from '@crs/records/lock-imports';
import type { RecordContext } from '@crs/records/record-service';
import { transactIf } from '@crs/records/transact-if';
import { timeSlices } from '@crs/kit/process/event-loop';
import { meter } from '@crs/kit/process/telemetry';
import { CALL_ID, parseUuid } from '@crs/kit/text';
import type { ImportError, ImportLine } from '@crs/proto/crs/imports/v1/imports';
import type { PoolClient } from 'pg';
import type { CallDeletion } from '../domain/call-record.ts';
import { changesOf, lineHashOf, type Changes, type PreparedCall, type StagedCall } from '../domain/changes.ts';
import { refuseHeld, type Touch } from '../domain/holds.ts';
import { feed } from '../store/feed.ts';
import { findHolds } from '../store/holds.ts';
import {
  deleteCalls,
  discardPlans,
  findRepeated,
  findStored,
  moveDays,
  stageCalls,
  writeCalls,
  type StagedRow,
} from '../store/import-calls.ts';
import { lineReader } from '../store/prepare-call.ts';
import { mergeCalls, splitBatch } from './merge-calls.ts';
import { resolve } from './resolve-references.ts';

/** Pollers by `updated_since` overlap their requests by 60 s, so a transaction must commit well within 60 s of its `updated_at`. */
const MAX_TRANSACTION_MS = 30_000;

export function imports({ importDb, auth }: RecordContext) {
  const lockDuration = meter('calls').createHistogram('crs.import.lock.duration', {
    unit: 's',
    description:
      'Time that a batch held a lock of its organization: `imports` holds back other batches, `feed` other changes of calls.',
  });
  const store = async (batch: ImportLine[], call: BatchCall, mode: BatchMode): Promise<Stored> => {
    const scope = callerScope(call);
    const { organization } = scope;
    checkSize(batch, mode);
    const hashes = await lineHashesOf(batch);
    const fresh = await importDb.transact(scope, async (query) => {
      await query(discardPlans());
      // A key that may not write must not learn whether a line is stored.
      return mode.rights?.includes('ingest') === false ? batch : withoutRepeats(query, organization, batch, hashes);
    });
    const repeated = batch.length - fresh.length;
    // Parsed before the lock is taken, so that the next batch is parsed while this one is written.
    const { lines, errors } = await readBatch(fresh, lineReader, scope, mode, repeated);
    const counts = { accepted: 0, unchanged: repeated, created: 0 };
    if (lines.length === 0 || isRefused(mode, errors)) return { ...counts, errors: sortByLine(errors) };
    const deadline = Math.min(scope.deadline, Date.now() + MAX_TRANSACTION_MS);
    const lockedSince: Record<string, number> = {};
    const work = async (query: Query, connection: PoolClient) => {
      await query(discardPlans());
      const stage = stager(query, connection);
      // Batches of one organization are staged concurrently.
      const staged = await stage(lines, (number) => hashes.get(number)!);
      const [lock] = await query(lockImports('calls', organization));
      lockedSince['imports'] = performance.now();
      const time = lock!.now;
      const moved = new MovedRecords();
      for (const segment of await splitBatch(query, organization, staged)) {
        const merged = await mergeCalls(query, organization, segment, (request) => auth.describeReferences(request, call));
        // A merged call isn't what any line says, so no line repeats it.
        const ready = await stage(merged.lines, () => null);
        const callIds = new Set(ready.map(({ record }) => record.callId));
        const [{ known, unknown }, { stored, holds }] = await Promise.all([
          // Under the lock, so that a later deletion of a user or project also covers the calls of this batch.
          resolve(ready, (request) => auth.resolveReferences(request, call), mode.supposed),
          findState(query, organization, [...callIds]),
        ]);
        const { free, held } = refuseHeld(known, stored, holds);
        const records = free.map(({ record }) => record);
        const changes = changesOf(stored, records, time);
        if (changes.deleted.length > 0) await query(deleteCalls(organization, changes.deleted));
        if (changes.writes.length > 0) await writeCalls(query, connection, organization, changes);
        await moveDays(query, organization, changes.days);
        addMoved(moved, changes);
        counts.accepted += changes.accepted;
        counts.created += changes.created;
        counts.unchanged += free.length - changes.accepted;
        errors.push(...merged.errors, ...unknown, ...held);
      }
      lockedSince['feed'] = performance.now();
      // The transaction's last work.
      await feed.append(query, organization, moved.at(time), time);
      return { ...counts, errors: sortByLine(errors) };
    };
    const response = await transactIf(importDb, { ...scope, deadline }, work, (stored) => isCommitted(mode, stored));
    for (const [lock, start] of Object.entries(lockedSince)) lockDuration.record((performance.now() - start) / 1000, { lock });
    return response;
  };
  const { recordAudit: record, recordKeyAction } = auth;
  return importRpcs({ service: 'calls', record, recordKeyAction, reader: lineReader, store, findProblems: heldLines(importDb) });
}

/** Returns a function that finds the lines of a check that a legal hold refuses. */
function heldLines(db: Database) {
  return (lines: NumberedRecord<CallDeletion | PreparedCall | Merge>[], scope: Scope): Promise<ImportError[]> =>
    db.transact(scope, async (query) => {
      const touches = lines.map(({ number, record }) => ({ number, record: isMerge(record) ? touchOf(record) : record }));
      const callIds = [...new Set(touches.map(({ record }) => record.callId))];
      const { stored, holds } = await findState(query, scope.organization, callIds);
      return refuseHeld<Touch>(touches, stored, holds).held;
    });
}

/** Reads one after the other, because the connections of imports aren't pipelined. */
async function findState(query: Query, organization: string, callIds: string[]) {
  const stored = await query(findStored(organization, callIds));
  return { stored, holds: await findHolds(query, organization, callIds) };
}

function touchOf({ id, patch, properties }: Merge): Touch {
  const touch = { callId: id, deleted: false };
  if (!properties.includes('project_id')) return touch;
  const { project_id: projectId } = JSON.parse(Buffer.from(patch).toString()) as { project_id: string | null };
  return { ...touch, projectId: projectId === null ? null : parseUuid(projectId)! };
}

/** Returns a function that stages the calls of lines that aren't staged yet, except merges, which aren't whole calls. */
function stager(query: Query, connection: PoolClient) {
  let staged = 0;
  return async <R extends CallDeletion | PreparedCall | StagedCall | Merge>(
    lines: NumberedRecord<R>[],
    hashOf: (number: number) => Buffer | null,
  ): Promise<NumberedRecord<Exclude<R, PreparedCall> | StagedCall>[]> => {
    const rows: StagedRow[] = [];
    const result = lines.map(({ number, record }) => {
      if (!isPrepared(record)) return { number, record: record as Exclude<R, PreparedCall> };
      const { row, ...call } = record;
      const position = staged++;
      rows.push({ position, row });
      return { number, record: { ...call, position, lineHash: hashOf(number) } };
    });
    if (rows.length > 0) await stageCalls(query, connection, rows);
    return result;
  };
}

function isPrepared(record: CallDeletion | PreparedCall | StagedCall | Merge): record is PreparedCall {
  return 'row' in record;
}

/** Adds the changes of a segment to those of earlier ones. */
function addMoved(moved: MovedRecords, { deleted, detailChanged, replaced }: Changes): void {
  const stored = new Set(replaced);
  for (const callId of deleted) moved.delete(callId);
  for (const callId of detailChanged) moved.change(callId, stored.has(callId));
}

async function lineHashesOf(lines: ImportLine[]): Promise<Map<number, Buffer>> {
  const hashes = new Map<number, Buffer>();
  const yieldWhenDue = timeSlices();
  for (const { number, json } of lines) {
    await yieldWhenDue();
    hashes.set(number, lineHashOf(json));
  }
  return hashes;
}

/**
 * Drops each line that equals the line from which its call was last imported, so that importing a file again needs no parsing. Keeps lines whose
 * call occurs more than once in the batch, because their order matters.
 */
async function withoutRepeats(
  query: Query,
  organization: string,
  lines: ImportLine[],
  hashes: Map<number, Buffer>,
): Promise<ImportLine[]> {
  const byId = Map.groupBy(lines, ({ id }) => id);
  const once = lines.filter(({ id }) => CALL_ID.test(id) && byId.get(id)!.length === 1);
  if (once.length === 0) return lines;
  const found = await query(
    findRepeated(
      organization,
      once.map(({ id }) => id),
      once.map(({ number }) => hashes.get(number)!),
    ),
  );
  const repeated = new Set(found.map(({ callId }) => callId));
  return lines.filter(({ id }) => !repeated.has(id));
}
