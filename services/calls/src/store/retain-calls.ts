import type { Query } from '@crs/kit/data/database';
import { MovedRecords } from '@crs/records/feed/moved';
import { lockImports } from '@crs/records/lock-imports';
import { cutoffOf, type RetainBy } from '@crs/records/retain';
import { feed } from './feed.ts';
import { findHolds } from './holds.ts';
import { deleteCalls, moveDays } from './import-calls.ts';
import { findRun, nextCalls, putRun, type AgedCall, type RetentionRun } from './retention.ts';

/** These bound for how long imports wait for a step. */
const READ_AT_ONCE = 2_000;
const DELETED_AT_ONCE = 1_000;

export interface RetentionSettings {
  retainCalls: string;
  retainBy: RetainBy;
  retainPerDay: number;
  /** When one of the other settings last changed. */
  changedAt: Date;
}

/** A part of a pass over all calls of an organization. */
export interface RetentionStep {
  organization: string;
  /** The id of the call after which it begins. */
  after: string;
  /** When the settings changed under which the pass began. Null: it begins here. */
  begunUnder: Date | null;
  /** Reads the settings. Called under the lock, so that none is deleted under settings that ended before. */
  readSettings: () => Promise<RetentionSettings>;
  /** Audits a deletion before it is committed. */
  audit: (calls: number, cutoff: Date) => Promise<unknown>;
}

interface Outcome {
  /** Calls that are too old, and that no legal hold keeps. */
  due: number;
  deleted: number;
  /** Where the next part begins. Empty: the pass is complete. */
  next: string;
  begunUnder: Date;
}

/** Deletes those of the next calls that the organization no longer keeps, up to its daily limit. */
export async function retainCalls(query: Query, step: RetentionStep): Promise<Outcome> {
  const { organization, after, readSettings, audit } = step;
  const [lock] = await query(lockImports('calls', organization));
  const { now } = lock!;
  const settings = await readSettings();
  const begunUnder = step.begunUnder ?? settings.changedAt;
  const isSame = begunUnder.getTime() === settings.changedAt.getTime();
  const cutoff = cutoffOf(settings.retainCalls, now);
  if (!cutoff) return { due: 0, deleted: 0, next: '', begunUnder };
  const run = await findRunOfToday(query, organization, now);
  const left = mayDelete(run, settings);
  // If nothing is deleted, the calls need only be counted.
  const most = left > 0 ? DELETED_AT_ONCE : READ_AT_ONCE;
  const { due, next } = await findDue(query, { organization, after, by: settings.retainBy, cutoff, most });
  const deleted = due.slice(0, left);
  // A pass that ends early, or whose settings changed on the way, hasn't counted everything.
  const countedFor = next === '' && isSame ? settings.changedAt : run.countedFor;
  await query(putRun(organization, { ...run, countedFor, deleted: run.deleted + deleted.length }));
  if (deleted.length > 0) {
    await audit(deleted.length, cutoff);
    await remove(query, organization, deleted, now);
  }
  return { due: due.length, deleted: deleted.length, next, begunUnder };
}

interface Search extends Pick<RetentionStep, 'organization' | 'after'> {
  by: RetainBy;
  cutoff: Date;
  most: number;
}

async function findDue(
  query: Query,
  { organization, after, by, cutoff, most }: Search,
): Promise<{ due: AgedCall[]; next: string }> {
  const calls = await query(nextCalls(organization, after, by, cutoff, READ_AT_ONCE));
  const old = calls.filter(({ isOld }) => isOld);
  const ids = old.map(({ callId }) => callId);
  const holds = await findHolds(query, organization, ids);
  const free = old.filter(({ callId, projectId }) => holds.of(callId, projectId) === undefined);
  const due = free.slice(0, most);
  if (due.length < free.length) return { due, next: due.at(-1)!.callId };
  return { due, next: calls.length < READ_AT_ONCE ? '' : calls.at(-1)!.callId };
}

async function findRunOfToday(query: Query, organization: string, now: Date): Promise<RetentionRun> {
  const [run] = await query(findRun(organization));
  const day = now.toISOString().slice(0, 10);
  return run?.day === day ? run : { countedFor: run?.countedFor ?? null, day, deleted: 0 };
}

/** Returns how many calls may still be deleted today: none until a pass has counted under these settings. */
function mayDelete({ countedFor, deleted }: RetentionRun, { retainPerDay, changedAt }: RetentionSettings): number {
  return countedFor?.getTime() === changedAt.getTime() ? Math.max(0, retainPerDay - deleted) : 0;
}

async function remove(query: Query, organization: string, calls: AgedCall[], now: Date): Promise<void> {
  const days = new Map<string, number>();
  const moved = new MovedRecords();
  for (const { callId, createdAt } of calls) {
    const day = createdAt.toISOString().slice(0, 10);
    days.set(day, (days.get(day) ?? 0) - 1);
    moved.delete(callId);
  }
  const ids = calls.map(({ callId }) => callId);
  await query(deleteCalls(organization, ids));
  await moveDays(query, organization, days);
  await feed.append(query, organization, moved.at(now), now);
}
