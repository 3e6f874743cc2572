import type { Query } from '@crs/kit/data/database';
import { callerScope } from '@crs/kit/data/scope';
import { checkSize, importRpcs, type NumberedRecord, readBatch, refused, sortByLine } from '@crs/records/import-batch';
import type { FieldError } from '@crs/records/import-record';
import { lockImports } from '@crs/records/lock-imports';
import { missing } from '@crs/records/missing-reference';
import type { RecordContext } from '@crs/records/record-service';
import { timeSlices } from '@crs/kit/process/event-loop';
import { meter } from '@crs/kit/process/telemetry';
import { CALL_ID } from '@crs/kit/text';
import type { ResolveReferencesRequest, ResolveReferencesResponse } from '@crs/proto/crs/auth/v1/auth';
import type { ImportError, ImportLine } from '@crs/proto/crs/imports/v1/imports';
import type { CallDeletion } from '../domain/call-record.ts';
import {
  changesOf,
  lineHashOf,
  referencesHashOf,
  type Changes,
  type PreparedCall,
  type ResolvedCall,
} from '../domain/changes.ts';
import { appendChanges } from '../store/feed.ts';
import { deleteCalls, discardPlans, findRepeated, findStored, moveDays, stageCalls, writeCalls } from '../store/import-calls.ts';
import { lineReader } from '../store/prepare-call.ts';

type Prepared = NumberedRecord<CallDeletion | PreparedCall>;
type Resolved = NumberedRecord<CallDeletion | ResolvedCall>;

/** Pollers by `updated_since` overlap their requests by 60 s, so a transaction must commit well within 60 s of its `updated_at`. */
const MAX_TRANSACTION_MS = 30_000;
/** Well below the limits of auth, and of a message to it. */
const REFERENCES_AT_ONCE = 2_000;

export function imports({ importDb, auth }: RecordContext) {
  const lockDuration = meter('calls').createHistogram('crs.import.lock.duration', {
    unit: 's',
    description:
      'Time that a batch held a lock of its organization: `imports` holds back other batches, `feed` other changes of calls.',
  });
  return importRpcs('calls', auth.recordAudit, lineReader, async (batch, call) => {
    const scope = callerScope(call);
    checkSize(batch);
    const hashes = await lineHashesOf(batch);
    const fresh = await importDb.transact(scope, async (query) => {
      await query(discardPlans());
      return withoutRepeats(query, scope.organization, batch, hashes);
    });
    const repeated = batch.length - fresh.length;
    // Parsed before the lock is taken, so that the next batch is parsed while this one is written.
    const { lines, errors } = await readBatch(fresh, lineReader, scope);
    if (lines.length === 0) return { accepted: 0, unchanged: repeated, errors: sortByLine(errors) };
    const deadline = Math.min(scope.deadline, Date.now() + MAX_TRANSACTION_MS);
    const lockedSince: Record<string, number> = {};
    const response = await importDb.transact({ ...scope, deadline }, async (query, connection) => {
      await query(discardPlans());
      const calls = lines.flatMap(({ record }) => (record.deleted ? [] : record));
      // Batches of one organization are staged concurrently.
      if (calls.length > 0) await stageCalls(query, connection, calls);
      const [lock] = await query(lockImports('calls', scope.organization));
      lockedSince['imports'] = performance.now();
      const time = lock!.now;
      const callIds = new Set(lines.map(({ record }) => record.callId));
      const [{ known, unknown }, stored] = await Promise.all([
        // Under the lock, so that a later deletion of a user or project also covers the calls of this batch.
        resolve(lines, hashes, (request) => auth.resolveReferences(request, call)),
        query(findStored(scope.organization, [...callIds])),
      ]);
      const records = known.map(({ record }) => record);
      const changes = changesOf(stored, records, time);
      if (changes.deleted.length > 0) await query(deleteCalls(scope.organization, changes.deleted));
      if (changes.writes.length > 0) await writeCalls(query, connection, scope.organization, changes);
      await moveDays(query, scope.organization, changes.days);
      lockedSince['feed'] = performance.now();
      await appendToFeed(query, scope.organization, changes, time);
      const unchanged = repeated + known.length - changes.accepted;
      return { accepted: changes.accepted, unchanged, errors: sortByLine([...errors, ...unknown]) };
    });
    for (const [lock, start] of Object.entries(lockedSince)) lockDuration.record((performance.now() - start) / 1000, { lock });
    return response;
  });
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

type ResolveReferences = (request: ResolveReferencesRequest) => Promise<ResolveReferencesResponse>;

/** Replaces e-mails by user ids. Refuses lines that name a user or a project that doesn't exist. */
async function resolve(
  lines: Prepared[],
  hashes: Map<number, Buffer>,
  resolveReferences: ResolveReferences,
): Promise<{ known: Resolved[]; unknown: ImportError[] }> {
  const yieldWhenDue = timeSlices();
  const { users, projects, organizationExists } = await lookUp(lines, resolveReferences, yieldWhenDue);
  const known: Resolved[] = [];
  const unknown: ImportError[] = [];
  let calls = 0;
  for (const { number, record } of lines) {
    await yieldWhenDue();
    const position = record.deleted ? -1 : calls++;
    if (!organizationExists) unknown.push(refused(number, missing('organization', 'organization')));
    else if (record.deleted) known.push({ number, record });
    else {
      const problem = missingReference(record, users, projects);
      if (problem) unknown.push(refused(number, problem));
      else {
        const conductedBy = record.conductedBy === null ? null : users.get(record.conductedBy)!;
        const notes = record.notes.flatMap(({ email, text }) => (text === null ? [] : { userId: users.get(email)!, text }));
        const referencesHash = referencesHashOf(conductedBy, notes);
        known.push({
          number,
          record: { ...record, position, conductedBy, notes, referencesHash, lineHash: hashes.get(number)! },
        });
      }
    }
  }
  return { known, unknown };
}

function missingReference(
  { projectId, conductedBy, notes }: PreparedCall,
  users: Map<string, string>,
  projects: Set<string>,
): FieldError | undefined {
  if (projectId !== null && !projects.has(projectId)) return missing('project', 'project_id');
  if (conductedBy !== null && !users.has(conductedBy)) return missing('user', 'conducted_by');
  const noteAt = notes.findIndex(({ email }) => !users.has(email));
  return noteAt === -1 ? undefined : missing('user', `notes[${noteAt}].email`);
}

/** Returns those users and projects named by the records that exist. Users are keyed by e-mail as written. */
async function lookUp(lines: Prepared[], resolveReferences: ResolveReferences, yieldWhenDue: () => Promise<void>) {
  const emails = new Set<string>();
  const projectIds = new Set<string>();
  for (const { record } of lines) {
    if (record.deleted) continue;
    await yieldWhenDue();
    if (record.projectId !== null) projectIds.add(record.projectId);
    if (record.conductedBy !== null) emails.add(record.conductedBy);
    for (const { email } of record.notes) emails.add(email);
  }
  const users = new Map<string, string>();
  const projects = new Set<string>();
  const [allEmails, allProjectIds] = [[...emails], [...projectIds]];
  let organizationExists;
  let at = 0;
  do {
    const end = at + REFERENCES_AT_ONCE;
    const found = await resolveReferences({ emails: allEmails.slice(at, end), projectIds: allProjectIds.slice(at, end) });
    for (const { email, userId } of found.users) users.set(email, userId);
    for (const id of found.projectIds) projects.add(id);
    organizationExists = found.organizationExists;
    at = end;
  } while (at < allEmails.length || at < allProjectIds.length);
  return { users, projects, organizationExists };
}

/** Appends the changed calls to the feed. Must be the transaction's last work. */
function appendToFeed(query: Query, organization: string, { deleted, detailChanged }: Changes, time: Date): Promise<void> {
  const moved = (callIds: string[], isDeleted: boolean) =>
    callIds.map((callId) => ({ callId, changedAt: time, deleted: isDeleted }));
  return appendChanges(query, organization, [...moved(deleted, true), ...moved(detailChanged, false)], time);
}
