import { callerScope } from '@crs/kit/data/scope';
import { exportRpc, nextOf, readPage } from '@crs/kit/product/export';
import type { RecordContext } from '@crs/kit/product/record-service';
import { exportLine, type ExportedCall } from '../domain/export-line.ts';
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
      const lines = rows.map((row) => exportLine(scope.organization, row, emails));
      return { lines, next: nextOf(page, ({ callId }) => callId) };
    },
  });
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
