// A model of an organization's calls and legal holds, in a few lines.

import { PROJECT, type CallLine } from './_records.ts';
import { OTHER_PROJECT } from './_holds.ts';

export const PROJECTS = [PROJECT, OTHER_PROJECT] as const;
export const USERS = ['ann@crs.example', 'bob@crs.example'] as const;

interface Call {
  projectId: string | null;
  conductor: string | null;
  writers: string[];
  createdAt: Date;
}

type Kept = { projectId: string } | { callIds: string[] };

export class HoldModel {
  readonly calls = new Map<string, Call>();
  readonly inForce = new Map<string, Kept>();
  /** Whether a run of retention has counted. */
  counted = false;

  create(holdId: string, kept: Kept): void {
    this.inForce.set(holdId, kept);
  }

  /** Whether a hold keeps the call. */
  holds(callId: string): boolean {
    const call = this.calls.get(callId);
    if (!call) return false;
    return [...this.inForce.values()].some((kept) =>
      'projectId' in kept ? kept.projectId === call.projectId : kept.callIds.includes(callId),
    );
  }

  refusesMove(callId: string, projectId: string | null): boolean {
    const before = this.calls.get(callId)?.projectId ?? null;
    return this.holds(callId) && before !== null && projectId !== before;
  }

  refusesWrite(line: CallLine): boolean {
    return this.refusesMove(line.id, line['project_id']);
  }

  refusesProject(projectId: string): boolean {
    const kept = [...this.inForce.values()].some((each) => 'projectId' in each && each.projectId === projectId);
    return kept || this.#some((callId, call) => call.projectId === projectId && this.holds(callId));
  }

  refusesUser(email: string): boolean {
    return this.#some((callId, { conductor, writers }) => (conductor === email || writers.includes(email)) && this.holds(callId));
  }

  write(line: CallLine): void {
    this.calls.set(line.id, {
      projectId: line['project_id'],
      conductor: line['conducted_by'],
      writers: line['notes'].map(({ email }: { email: string }) => email),
      createdAt: new Date(line['created_at']),
    });
  }

  move(callId: string, projectId: string | null): void {
    this.calls.get(callId)!.projectId = projectId;
  }

  eraseProject(projectId: string): void {
    for (const [callId, call] of this.calls) if (call.projectId === projectId) this.calls.delete(callId);
  }

  eraseUser(email: string): void {
    for (const call of this.calls.values()) {
      if (call.conductor === email) call.conductor = null;
      call.writers = call.writers.filter((writer) => writer !== email);
    }
  }

  /** The calls that retention of so many days deletes. */
  due(days: number): string[] {
    const cutoff = Date.now() - days * 86_400_000;
    return [...this.calls].filter(([id, { createdAt }]) => +createdAt < cutoff && !this.holds(id)).map(([id]) => id);
  }

  /** The rows of calls that the service must have, by id. */
  rows(): object[] {
    const rows = [...this.calls].map(([id, { projectId, conductor }]) => ({ id, project_id: projectId, conductor }));
    return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  #some(test: (callId: string, call: Call) => boolean): boolean {
    return [...this.calls].some(([callId, call]) => test(callId, call));
  }
}
