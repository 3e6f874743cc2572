import { callerScope } from '@crs/kit/data/scope';
import { timeSlices } from '@crs/kit/process/event-loop';
import { runInWorker } from '@crs/kit/process/worker';
import { exportRpc, lengthOf, nextOf, readPage } from '@crs/records/export';
import type { RecordContext } from '@crs/records/record-service';
import { lineWriter, type ExportedCall } from '../domain/export-line.ts';
import { exportCalls } from '../store/export-calls.ts';

/** Well below the limit of auth. */
const REFERENCES_AT_ONCE = 2_000;

export function exportRecords({ importDb, auth }: RecordContext) {
  return exportRpc('calls', auth.recordAudit, {
    call: async (after, call) => {
      const scope = callerScope(call);
      const page = await readPage(importDb, scope, exportCalls(scope.organization, after));
      const { emails, projects } = await describe(page.rows, (question) => auth.describeReferences(question, call));
      // The calls of a project go with it, and its deletion may have begun.
      const rows = page.rows.filter(({ projectId }) => projectId === null || projects.has(projectId));
      const lines = await linesOf(scope.organization, rows, emails);
      return { lines, next: nextOf(page, ({ callId }) => callId) };
    },
  });
}

/** A longer row becomes a line in the worker thread, because nothing can interrupt that. */
const MAX_BYTES_HERE = 64 * 1024;

async function linesOf(organization: string, calls: ExportedCall[], emails: Map<string, string>): Promise<Uint8Array[]> {
  const lines: Uint8Array[] = [];
  const yieldWhenDue = timeSlices();
  for (const call of calls) {
    await yieldWhenDue();
    const isLong = lengthOf(call) > MAX_BYTES_HERE;
    const input = { organization, call, emails: isLong ? emailsOf(call, emails) : emails };
    lines.push(isLong ? await runInWorker(lineWriter, input) : lineWriter.run(input));
  }
  return lines;
}

function emailsOf({ conductedBy, notes }: ExportedCall, emails: Map<string, string>): Map<string, string> {
  const named = [conductedBy, ...notes.map(({ userId }) => userId)].filter((id) => id !== null && emails.has(id));
  return new Map(named.map((id) => [id!, emails.get(id!)!]));
}

type Ask = (question: {
  userIds: string[];
  projectIds: string[];
}) => Promise<{ users: { userId: string; email: string }[]; projects: { projectId: string }[] }>;

/** The e-mails of the users whom the calls name, and those of their projects that exist. */
async function describe(calls: ExportedCall[], ask: Ask) {
  const userIds = [
    ...new Set(calls.flatMap(({ conductedBy, notes }) => [...(conductedBy ? [conductedBy] : []), ...notes.map((n) => n.userId)])),
  ];
  const projectIds = [...new Set(calls.flatMap(({ projectId }) => projectId ?? []))];
  const emails = new Map<string, string>();
  const projects = new Set<string>();
  while (userIds.length > 0 || projectIds.length > 0) {
    const answer = await ask({
      userIds: userIds.splice(0, REFERENCES_AT_ONCE),
      projectIds: projectIds.splice(0, REFERENCES_AT_ONCE),
    });
    for (const { userId, email } of answer.users) emails.set(userId, email);
    for (const { projectId } of answer.projects) projects.add(projectId);
  }
  return { emails, projects };
}
