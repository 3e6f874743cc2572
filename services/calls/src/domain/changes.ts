/** Computes the changes that a batch of import lines makes, before anything is written. */
import { createHash, hash } from 'node:crypto';
import type { CallDeletion, CallRecord } from './call-record.ts';
import { FORMAT_VERSION } from './stored-json/index.ts';

/**
 * A parsed record with its texts already formatted for COPY, as bytes: the worker thread can transfer those without a copy.
 */
export interface PreparedCall extends Pick<
  CallRecord,
  'deleted' | 'organization' | 'callId' | 'createdAt' | 'projectId' | 'conductedBy'
> {
  /** The columns that depend on the record alone, and `list_item_json` and `detail_json` before and after the call's times. */
  row: Uint8Array;
  rowHash: Uint8Array;
  notes: { email: string; text: Uint8Array | null }[];
}

/** A record whose row is staged for COPY. */
export interface StagedCall extends Omit<PreparedCall, 'row'> {
  /** The position among the staged calls of the batch. */
  position: number;
  /** Null: the line was a merge, so the call isn't what any line says. */
  lineHash: Buffer | null;
}

/** A record with ids in place of e-mails. */
export interface ResolvedCall extends Omit<StagedCall, 'notes'> {
  notes: ResolvedNote[];
  referencesHash: Buffer;
}

interface ResolvedNote {
  userId: string;
  text: Uint8Array;
}

/** The stored state of a call that an import touches. */
export interface StoredCall {
  callId: string;
  projectId: string | null;
  createdAt: Date;
  updatedAt: Date;
  /** The hash of everything stored about the call. */
  recordHash: Buffer;
  /** The hash of everything that the REST detail can show. */
  detailHash: Buffer;
}

export type CallWrite = ResolvedCall & StoredCall;

export interface Changes {
  /** The number of lines that change something. */
  accepted: number;
  /** The number of lines that store a new call. */
  created: number;
  /** Ids of stored calls to delete. */
  deleted: string[];
  writes: CallWrite[];
  /** Ids of the written calls that are stored already. */
  replaced: string[];
  /** Ids of the written calls whose detail changes: their `updatedAt` moves. */
  detailChanged: string[];
  /** By how much the number of calls of each UTC day (`YYYY-MM-DD`) changes. */
  days: Map<string, number>;
}

/** A call's state while the lines of the batch are applied. */
interface CallState {
  stored: StoredCall | undefined;
  /** After the lines so far; undefined if the call doesn't exist. */
  now: StoredCall | undefined;
  write: CallWrite | undefined;
}

/**
 * @param stored the calls of these records that are stored
 * @param time of the import: it becomes `updatedAt` of calls whose detail changes, and `createdAt` of new calls whose record has none
 */
export function changesOf(stored: StoredCall[], records: (CallDeletion | ResolvedCall)[], time: Date): Changes {
  const states = new Map<string, CallState>(stored.map((row) => [row.callId, { stored: row, now: row, write: undefined }]));
  const changes: Changes = { accepted: 0, created: 0, deleted: [], writes: [], replaced: [], detailChanged: [], days: new Map() };
  for (const record of records) {
    const state = states.get(record.callId) ?? { stored: undefined, now: undefined, write: undefined };
    states.set(record.callId, state);
    const existed = state.now !== undefined;
    if (!(record.deleted ? remove(state) : put(state, record, time))) continue;
    changes.accepted++;
    if (!existed) changes.created++;
  }
  // In index order.
  const inOrder = [...states].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [callId, { stored: before, now, write }] of inOrder) {
    if (before) count(changes.days, before, -1);
    if (now) count(changes.days, now, 1);
    if (before && !now) changes.deleted.push(callId);
    if (write) changes.writes.push(write);
    if (write?.updatedAt === time) changes.detailChanged.push(callId);
    if (before && write) changes.replaced.push(callId);
  }
  return changes;
}

/** @returns whether the call existed */
function remove(state: CallState): boolean {
  const existed = state.now !== undefined;
  state.now = state.write = undefined;
  return existed;
}

/** @returns whether the record differs from the call */
function put(state: CallState, call: ResolvedCall, time: Date): boolean {
  const { now } = state;
  const createdAt = call.createdAt ?? now?.createdAt ?? time;
  const detailHash = hash('sha256', Buffer.concat([call.rowHash, Buffer.from(createdAt.toISOString())]), 'buffer');
  const recordHash = hash('sha256', Buffer.concat([detailHash, call.referencesHash]), 'buffer');
  if (now?.recordHash.equals(recordHash)) return false;
  const updatedAt = now?.detailHash.equals(detailHash) ? now.updatedAt : time;
  state.now = state.write = { ...call, createdAt, updatedAt, recordHash, detailHash };
  return true;
}

function count(days: Map<string, number>, { createdAt }: StoredCall, by: number): void {
  const day = createdAt.toISOString().slice(0, 10);
  days.set(day, (days.get(day) ?? 0) + by);
}

/** Hashes what is stored about a call but never shown by REST. */
export function referencesHashOf(conductedBy: string | null, notes: readonly ResolvedNote[]): Buffer {
  const result = createHash('sha256').update(String(conductedBy));
  // The order of notes isn't stored.
  for (const { userId, text } of notes.toSorted((a, b) => (a.userId < b.userId ? -1 : 1))) {
    result.update(` ${userId} ${text.length} `).update(text);
  }
  return result.digest();
}

/** Hashes a line, together with the format version. A line whose hash is stored with its call changes nothing, so it isn't parsed. */
export function lineHashOf(line: Uint8Array): Buffer {
  return Buffer.concat([hash('sha256', line, 'buffer'), Buffer.of(FORMAT_VERSION)]);
}
