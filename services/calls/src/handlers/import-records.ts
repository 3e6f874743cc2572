import type { PoolClient } from 'pg';
import { byLine, checkSize, importRpc, type Line, NO_ORGANIZATION, readBatch, refused } from '@crs/kit/product/import-batch';
import { callerScope } from '@crs/kit/data/scope';
import { CALL_ID } from '@crs/kit/text';
import type { ImportError, ImportLine } from '@crs/proto/crs/imports/v1/imports';
import type { Query } from '@crs/kit/data/database';
import type { Context } from '../context.ts';
import { callLine, type CallDeletion } from '../domain/call-record.ts';
import {
  deleteCalls,
  findRepeated,
  findStored,
  hashesOf,
  lineHashOf,
  lockImports,
  moveDays,
  preferIndexes,
  prepare,
  writeCalls,
  type CallWrite,
  type PreparedCall,
  type ResolvedCall,
  type StoredCall,
} from '../store/import-calls.ts';

type Prepared = Line<CallDeletion | PreparedCall>;
type Resolved = Line<CallDeletion | ResolvedCall>;

/** `updated_at` is taken in the transaction, and pollers reach back from it: what is written must not stay unseen for longer. */
const MAX_TRANSACTION_MS = 30_000;
/** Well below what auth answers at once, and what a message to it may hold. */
const REFERENCES_AT_ONCE = 2_000;

/** A record gives way to the rows that it makes line by line: a batch of records would be much to hold. */
const preparedLine = callLine.transform((record) => (record.deleted ? record : prepare(record)));

export function importRecords({ importDb, auth }: Context) {
  return importRpc(async (request, call) => {
    const scope = callerScope(call);
    checkSize(request);
    const hashes = new Map(request.lines.map(({ number, json }) => [number, lineHashOf(json)]));
    const fresh = await importDb.transact(scope, async (query) => {
      await preferIndexes(query);
      return withoutRepeats(query, scope.organization, request.lines, hashes);
    });
    const repeated = request.lines.length - fresh.length;
    // Before the lock, so that the next batch is made ready while this one is written.
    const { lines, errors } = await readBatch({ lines: fresh }, preparedLine, scope.organization);
    if (lines.length === 0) return { accepted: 0, unchanged: repeated, errors: byLine(errors) };
    const deadline = Math.min(scope.deadline, Date.now() + MAX_TRANSACTION_MS);
    return importDb.transact({ ...scope, deadline }, async (query, connection) => {
      await preferIndexes(query);
      const time = await lockImports(query, scope.organization);
      // Asked under the lock: what is erased meanwhile takes what was written before with it.
      const { known, unknown } = await resolve(lines, hashes, (question) => auth.resolveReferences(question, call));
      if (known.length > 0) await auth.recordAudit({ action: 'calls.import', target: `${known.length} records` }, call);
      const counts = await store(query, connection, scope.organization, known, time);
      return { accepted: counts.accepted, unchanged: repeated + counts.unchanged, errors: byLine([...errors, ...unknown]) };
    });
  });
}

/**
 * Leaves out lines that are, byte for byte, what their call was last imported from: to import a file again then costs no parsing. Not
 * where a batch says something of a call twice, as then the order counts.
 */
async function withoutRepeats(
  query: Query,
  organization: string,
  lines: ImportLine[],
  hashes: Map<number, string>,
): Promise<ImportLine[]> {
  const times = new Map<string, number>();
  for (const { id } of lines) times.set(id, (times.get(id) ?? 0) + 1);
  const once = lines.filter(({ id }) => CALL_ID.test(id) && times.get(id) === 1);
  if (once.length === 0) return lines;
  const positions = await findRepeated(
    query,
    organization,
    once.map(({ id, number }) => ({ id, lineHash: hashes.get(number)! })),
  );
  const repeated = new Set(once.filter((_line, position) => positions.has(position)));
  return lines.filter((line) => !repeated.has(line));
}

type Ask = (question: { emails: string[]; projectIds: string[] }) => Promise<{
  users: { email: string; userId: string }[];
  projectIds: string[];
  organizationExists: boolean;
}>;

/** Turns e-mails into user ids; a line that names what isn't there is refused. */
async function resolve(
  lines: Prepared[],
  hashes: Map<number, string>,
  ask: Ask,
): Promise<{ known: Resolved[]; unknown: ImportError[] }> {
  const { users, projects, organizationExists } = await lookUp(
    lines.flatMap(({ record }) => (record.deleted ? [] : record)),
    ask,
  );
  const known: Resolved[] = [];
  const unknown: ImportError[] = [];
  for (const { number, record } of lines) {
    if (!organizationExists) unknown.push(refused(number, NO_ORGANIZATION));
    else if (record.deleted) known.push({ number, record });
    else {
      const noteAt = record.notes.findIndex(({ email }) => !users.has(email));
      const problem =
        record.projectId !== null && !projects.has(record.projectId)
          ? { field: 'project_id', reason: 'must be a project of this organization' }
          : record.conductedBy !== null && !users.has(record.conductedBy)
            ? { field: 'conducted_by', reason: 'must be the e-mail of a user of this organization' }
            : noteAt >= 0
              ? { field: `notes[${noteAt}].email`, reason: 'must be the e-mail of a user of this organization' }
              : undefined;
      if (problem) unknown.push(refused(number, problem));
      else {
        const conductedBy = record.conductedBy === null ? null : users.get(record.conductedBy)!;
        const notes = record.notes.flatMap(({ email, text }) => (text === null ? [] : { userId: users.get(email)!, text }));
        known.push({ number, record: { ...record, conductedBy, notes, lineHash: hashes.get(number)! } });
      }
    }
  }
  return { known, unknown };
}

/** The users by e-mail as written, and the projects, that the records name and that exist. */
async function lookUp(records: PreparedCall[], ask: Ask) {
  const emails = [
    ...new Set(
      records.flatMap(({ conductedBy, notes }) => [...(conductedBy ? [conductedBy] : []), ...notes.map((n) => n.email)]),
    ),
  ];
  const projectIds = [...new Set(records.flatMap(({ projectId }) => projectId ?? []))];
  const users = new Map<string, string>();
  const projects = new Set<string>();
  let organizationExists;
  do {
    const answer = await ask({
      emails: emails.splice(0, REFERENCES_AT_ONCE),
      projectIds: projectIds.splice(0, REFERENCES_AT_ONCE),
    });
    for (const { email, userId } of answer.users) users.set(email, userId);
    for (const id of answer.projectIds) projects.add(id);
    organizationExists = answer.organizationExists;
  } while (emails.length > 0 || projectIds.length > 0);
  return { users, projects, organizationExists };
}

/** Where a call of the batch ends up, line by line. */
interface Fate {
  stored: StoredCall | undefined;
  /** The call as the lines so far leave it; undefined: not there. */
  now: StoredCall | undefined;
  write: CallWrite | undefined;
}

async function store(
  query: Query,
  connection: PoolClient,
  organization: string,
  lines: Resolved[],
  time: Date,
): Promise<{ accepted: number; unchanged: number }> {
  const stored = await findStored(query, organization, [...new Set(lines.map(({ record }) => record.callId))]);
  const fates = new Map<string, Fate>(stored.map((row) => [row.callId, { stored: row, now: row, write: undefined }]));
  let accepted = 0;
  for (const { record } of lines) {
    const fate = fates.get(record.callId) ?? { stored: undefined, now: undefined, write: undefined };
    fates.set(record.callId, fate);
    if (record.deleted ? remove(fate) : put(fate, record, time)) accepted++;
  }
  await apply(query, connection, organization, [...fates]);
  return { accepted, unchanged: lines.length - accepted };
}

/** @returns whether that changed anything */
function remove(fate: Fate): boolean {
  const wasThere = fate.now !== undefined;
  fate.now = fate.write = undefined;
  return wasThere;
}

/** @returns whether that changed anything */
function put(fate: Fate, call: ResolvedCall, time: Date): boolean {
  const { now } = fate;
  const createdAt = call.createdAt ?? now?.createdAt ?? time;
  const { recordHash, shownHash } = hashesOf(call, createdAt);
  if (now?.recordHash === recordHash) return false;
  const updatedAt = now?.shownHash === shownHash ? now.updatedAt : time;
  fate.now = { callId: call.callId, createdAt, updatedAt, recordHash, shownHash };
  fate.write = { ...call, createdAt, updatedAt, recordHash, shownHash };
  return true;
}

async function apply(query: Query, connection: PoolClient, organization: string, fates: [string, Fate][]): Promise<void> {
  const days = new Map<string, number>();
  const move = (call: StoredCall | undefined, by: number) => {
    if (!call) return;
    const day = call.createdAt.toISOString().slice(0, 10);
    days.set(day, (days.get(day) ?? 0) + by);
  };
  for (const [, { stored, now }] of fates) {
    move(stored, -1);
    move(now, 1);
  }
  const gone = fates.filter(([, { stored, now }]) => stored && !now).map(([id]) => id);
  const written = fates.flatMap(([, fate]) => (fate.write ? { write: fate.write, replaces: fate.stored !== undefined } : []));
  if (gone.length > 0) await deleteCalls(query, organization, gone);
  if (written.length > 0) {
    const replaced = written.filter(({ replaces }) => replaces).map(({ write }) => write.callId);
    await writeCalls(
      query,
      connection,
      organization,
      written.map(({ write }) => write),
      replaced,
    );
  }
  await moveDays(query, organization, days);
}
