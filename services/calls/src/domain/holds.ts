/** Legal holds: what they forbid, and what callers learn of them. */
import { REASONS, ServiceError } from '@crs/kit/errors';
import type { ImportError } from '@crs/proto/crs/imports/v1/imports';
import type { NumberedRecord } from '@crs/records/import-batch';
import type { StoredCall } from './changes.ts';

/** A hold in force, with one thing that it keeps: a call, or all calls of a project. */
export interface HoldRow {
  holdId: string;
  callId: string | null;
  projectId: string | null;
}

/** The holds that keep some calls. */
export class Holds {
  readonly #byCall = new Map<string, string>();
  readonly #byProject = new Map<string, string>();

  constructor(rows: readonly HoldRow[]) {
    for (const { holdId, callId, projectId } of rows) {
      if (callId !== null) this.#byCall.set(callId, holdId);
      if (projectId !== null) this.#byProject.set(projectId, holdId);
    }
  }

  /** Returns the id of a hold that keeps the call, or undefined. */
  of(callId: string, projectId: string | null): string | undefined {
    return this.#byCall.get(callId) ?? (projectId === null ? undefined : this.#byProject.get(projectId));
  }
}

/** What a line does to a call. */
export interface Touch {
  callId: string;
  deleted: boolean;
  /** Absent: the call stays where it is. */
  projectId?: string | null;
}

/**
 * Refuses the lines that would delete a held call, or move it out of its project. Each line is judged by the state after the lines before it, because
 * a line may move a call into a held project.
 */
export function refuseHeld<R extends Touch>(
  lines: NumberedRecord<R>[],
  stored: Pick<StoredCall, 'callId' | 'projectId'>[],
  holds: Holds,
): { free: NumberedRecord<R>[]; held: ImportError[] } {
  const projects = new Map(stored.map(({ callId, projectId }) => [callId, projectId]));
  const free: NumberedRecord<R>[] = [];
  const held: ImportError[] = [];
  for (const line of lines) {
    const { callId, deleted, projectId: after } = line.record;
    const before = projects.get(callId);
    const holdId = before === undefined ? undefined : holds.of(callId, before);
    if (holdId !== undefined && deleted) held.push(refusal(line.number, 'deleted', 'must not be true', holdId));
    else if (holdId !== undefined && before !== null && after !== undefined && after !== before)
      held.push(refusal(line.number, 'project_id', 'must not change', holdId));
    else {
      free.push(line);
      if (deleted) projects.delete(callId);
      else if (after !== undefined) projects.set(callId, after);
    }
  }
  return { free, held };
}

function refusal(line: number, field: string, reason: string, holdId: string): ImportError {
  return { line, field, reason: `${reason}: the legal hold ${holdId} keeps the call`, holdId };
}

/** @param message what can't be deleted, and the id of the hold */
export function heldError(message: string): ServiceError {
  return new ServiceError('failed_precondition', message, { reason: REASONS.legalHold });
}
