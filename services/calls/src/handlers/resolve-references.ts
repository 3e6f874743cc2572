import { randomUUID } from 'node:crypto';
import { timeSlices } from '@crs/kit/process/event-loop';
import { fold } from '@crs/kit/text';
import type { ResolveReferencesRequest, ResolveReferencesResponse } from '@crs/proto/crs/auth/v1/auth';
import type { ImportError, Supposed } from '@crs/proto/crs/imports/v1/imports';
import { refused, type NumberedRecord } from '@crs/records/import-batch';
import type { FieldError } from '@crs/records/import-record';
import { missing } from '@crs/records/missing-reference';
import type { CallDeletion } from '../domain/call-record.ts';
import { referencesHashOf, type ResolvedCall, type StagedCall } from '../domain/changes.ts';

/** Well below the limits of auth, and of a message to it. */
const REFERENCES_AT_ONCE = 2_000;

type Lines = readonly NumberedRecord<CallDeletion | StagedCall>[];

type ResolveReferences = (request: ResolveReferencesRequest) => Promise<ResolveReferencesResponse>;

/**
 * Replaces e-mails by user ids. Refuses lines that name a user or a project that doesn't exist.
 * @param supposed users and projects that a check takes for existing
 */
export async function resolve(
  lines: NumberedRecord<CallDeletion | StagedCall>[],
  resolveReferences: ResolveReferences,
  supposed: Supposed,
): Promise<{ known: NumberedRecord<CallDeletion | ResolvedCall>[]; unknown: ImportError[] }> {
  const yieldWhenDue = timeSlices();
  const { users, projects, organizationExists } = await lookUp(lines, resolveReferences, yieldWhenDue);
  suppose(supposed, lines, users, projects);
  const known: NumberedRecord<CallDeletion | ResolvedCall>[] = [];
  const unknown: ImportError[] = [];
  for (const { number, record } of lines) {
    await yieldWhenDue();
    if (!organizationExists) unknown.push(refused(number, missing('organization', 'organization')));
    else if (record.deleted) known.push({ number, record });
    else {
      const problem = missingReference(record, users, projects);
      if (problem) unknown.push(refused(number, problem));
      else {
        const conductedBy = record.conductedBy === null ? null : users.get(record.conductedBy)!;
        const notes = record.notes.flatMap(({ email, text }) => (text === null ? [] : { userId: users.get(email)!, text }));
        const referencesHash = referencesHashOf(conductedBy, notes);
        known.push({ number, record: { ...record, conductedBy, notes, referencesHash } });
      }
    }
  }
  return { known, unknown };
}

function missingReference(
  { projectId, conductedBy, notes }: StagedCall,
  users: Map<string, string>,
  projects: Set<string>,
): FieldError | undefined {
  if (projectId !== null && !projects.has(projectId)) return missing('project', 'project_id');
  if (conductedBy !== null && !users.has(conductedBy)) return missing('user', 'conducted_by');
  const noteAt = notes.findIndex(({ email }) => !users.has(email));
  return noteAt === -1 ? undefined : missing('user', `notes[${noteAt}].email`);
}

/** Adds the users and projects that a check takes for existing. Nothing of a check is stored, so any id will do. */
function suppose(supposed: Supposed, lines: Lines, users: Map<string, string>, projects: Set<string>): void {
  for (const id of supposed.projectIds) projects.add(id);
  const ids = new Map(supposed.emails.map((email) => [fold(email), randomUUID()]));
  if (ids.size === 0) return;
  for (const { record } of lines) {
    if (record.deleted) continue;
    for (const email of emailsOf(record)) {
      const id = users.get(email) ?? ids.get(fold(email));
      if (id !== undefined) users.set(email, id);
    }
  }
}

function emailsOf({ conductedBy, notes }: StagedCall): string[] {
  return [...(conductedBy === null ? [] : [conductedBy]), ...notes.map(({ email }) => email)];
}

/** Returns those users and projects named by the records that exist. Users are keyed by e-mail as written. */
async function lookUp(lines: Lines, resolveReferences: ResolveReferences, yieldWhenDue: () => Promise<void>) {
  const emails = new Set<string>();
  const projectIds = new Set<string>();
  for (const { record } of lines) {
    if (record.deleted) continue;
    await yieldWhenDue();
    if (record.projectId !== null) projectIds.add(record.projectId);
    for (const email of emailsOf(record)) emails.add(email);
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
