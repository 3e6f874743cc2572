import { timeSlices } from '@crs/kit/process/event-loop';
import { runInWorker } from '@crs/kit/process/worker';
import { lengthOf } from '@crs/records/export';
import type { DescribeReferencesRequest, DescribeReferencesResponse } from '@crs/proto/crs/auth/v1/auth';
import { lineWriter, type ExportedCall } from '../domain/export-line.ts';

/** Well below the limit of auth. */
const REFERENCES_AT_ONCE = 2_000;

/** Longer rows are converted in the worker thread, because the conversion can't be interrupted. */
const MAX_BYTES_HERE = 64 * 1024;

/** The lines that an import turns back into these calls. */
export async function linesOf(organization: string, calls: ExportedCall[], emails: Map<string, string>): Promise<Uint8Array[]> {
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

function emailsOf(call: ExportedCall, emails: Map<string, string>): Map<string, string> {
  const known = userIdsOf(call).filter((id) => emails.has(id));
  return new Map(known.map((id) => [id, emails.get(id)!]));
}

export function userIdsOf({ conductedBy, notes }: ExportedCall): string[] {
  return [...(conductedBy ? [conductedBy] : []), ...notes.map(({ userId }) => userId)];
}

/** Returns the e-mails of the users whom the calls name, and those of their projects that exist. */
export async function describe(
  calls: ExportedCall[],
  describeReferences: (request: DescribeReferencesRequest) => Promise<DescribeReferencesResponse>,
) {
  const userIds = [...new Set(calls.flatMap(userIdsOf))];
  const projectIds = [...new Set(calls.flatMap(({ projectId }) => projectId ?? []))];
  const emails = new Map<string, string>();
  const projects = new Set<string>();
  while (userIds.length > 0 || projectIds.length > 0) {
    const found = await describeReferences({
      userIds: userIds.splice(0, REFERENCES_AT_ONCE),
      projectIds: projectIds.splice(0, REFERENCES_AT_ONCE),
    });
    for (const { userId, email } of found.users) emails.set(userId, email);
    for (const { projectId } of found.projects) projects.add(projectId);
  }
  return { emails, projects };
}
