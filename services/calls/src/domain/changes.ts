/** Works out the changes that a batch of import lines makes, before anything is written. */
import { createHash, hash } from 'node:crypto';
import type { CallDeletion, CallRecord } from './call-record.ts';
import { FORMAT_VERSION } from './stored-json/index.ts';

/**
 * The parts of a record that are kept until it is written: its references, and texts, which the store formats ahead of time, for COPY. They are
 * bytes, because the thread that reads long lines can hand over bytes without copying them.
 */
export interface PreparedCall extends Pick<
  CallRecord,
  'deleted' | 'organization' | 'callId' | 'createdAt' | 'projectId' | 'conductedBy'
> {
  /** The columns of the call that the record alone fills, and the texts of `list_item_json` and `detail_json` before and after the times of the call. */
  row: Uint8Array;
  rowHash: Uint8Array;
  notes: { email: string; text: Uint8Array | null }[];
}

/** A record whose references are ids. */
export interface ResolvedCall extends Omit<PreparedCall, 'notes'> {
  /** Among the calls of the batch, as they are staged. */
  position: number;
  notes: ResolvedNote[];
  /** The {@link referencesHashOf} the ids and notes. */
  referencesHash: Buffer;
  /** The {@link lineHashOf} the line that holds the record. */
  lineHash: Buffer;
}

interface ResolvedNote {
  userId: string;
  text: Uint8Array;
}

interface Written {
  callId: string;
  createdAt: Date;
  updatedAt: Date;
  /** Hash of everything that is stored of the call. */
  recordHash: Buffer;
  /** Hash of everything that the REST detail can show of the call. */
  shownHash: Buffer;
}

/** The stored state of a call that an import touches. */
export type StoredCall = Written;

/** A call to be written, with the times that it gets. */
export type CallWrite = ResolvedCall & Written;

export interface Changes {
  /** How many lines change anything. */
  accepted: number;
  /** Ids of stored calls to delete. */
  deleted: string[];
  writes: CallWrite[];
  /** Ids of the written calls that are stored already. */
  replaced: string[];
  /** Ids of the written calls whose detail changes: their `updatedAt` moves. */
  shown: string[];
  /** By how much the number of calls of each UTC day (`YYYY-MM-DD`) changes. */
  days: Map<string, number>;
}

/** The state of a call of the batch, line by line. */
interface Fate {
  stored: StoredCall | undefined;
  /** The call as the lines so far leave it; undefined: it doesn't exist. */
  now: Written | undefined;
  write: CallWrite | undefined;
}

/**
 * @param stored the calls of these records that are stored
 * @param time of the import: it becomes `updatedAt` of calls whose detail changes, and `createdAt` of new calls whose record has none
 */
export function changesOf(stored: StoredCall[], records: (CallDeletion | ResolvedCall)[], time: Date): Changes {
  const fates = new Map<string, Fate>(stored.map((row) => [row.callId, { stored: row, now: row, write: undefined }]));
  const changes: Changes = { accepted: 0, deleted: [], writes: [], replaced: [], shown: [], days: new Map() };
  for (const record of records) {
    const fate = fates.get(record.callId) ?? { stored: undefined, now: undefined, write: undefined };
    fates.set(record.callId, fate);
    if (record.deleted ? remove(fate) : put(fate, record, time)) changes.accepted++;
  }
  // In the order of the indexes.
  const inOrder = [...fates].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [callId, { stored: before, now, write }] of inOrder) {
    if (before) count(changes.days, before, -1);
    if (now) count(changes.days, now, 1);
    if (before && !now) changes.deleted.push(callId);
    if (write) changes.writes.push(write);
    if (write?.updatedAt === time) changes.shown.push(callId);
    if (before && write) changes.replaced.push(callId);
  }
  return changes;
}

/** @returns whether that changes anything */
function remove(fate: Fate): boolean {
  const wasThere = fate.now !== undefined;
  fate.now = fate.write = undefined;
  return wasThere;
}

/** @returns whether that changes anything */
function put(fate: Fate, call: ResolvedCall, time: Date): boolean {
  const { now } = fate;
  const createdAt = call.createdAt ?? now?.createdAt ?? time;
  const shownHash = hash('sha256', Buffer.concat([call.rowHash, Buffer.from(createdAt.toISOString())]), 'buffer');
  const recordHash = hash('sha256', Buffer.concat([shownHash, call.referencesHash]), 'buffer');
  if (now?.recordHash.equals(recordHash)) return false;
  const updatedAt = now?.shownHash.equals(shownHash) ? now.updatedAt : time;
  fate.now = fate.write = { ...call, createdAt, updatedAt, recordHash, shownHash };
  return true;
}

function count(days: Map<string, number>, { createdAt }: Written, by: number): void {
  const day = createdAt.toISOString().slice(0, 10);
  days.set(day, (days.get(day) ?? 0) + by);
}

/** The hash of what is stored of a call, but REST never shows. */
export function referencesHashOf(conductedBy: string | null, notes: readonly ResolvedNote[]): Buffer {
  const result = createHash('sha256').update(String(conductedBy));
  // Notes are stored in no order.
  for (const { userId, text } of notes.toSorted((a, b) => (a.userId < b.userId ? -1 : 1))) {
    result.update(` ${userId} ${text.length} `).update(text);
  }
  return result.digest();
}

/** The hash of a line, byte for byte, and the form of the texts. A line with the hash that is stored with its call changes nothing, so it isn't parsed. */
export function lineHashOf(line: Uint8Array): Buffer {
  return Buffer.concat([hash('sha256', line, 'buffer'), Buffer.of(FORMAT_VERSION)]);
}
