/** Looks for a person in an organization's calls, a page at a time. */
import type { Scope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { timeSlices } from '@crs/kit/process/event-loop';
import { runInWorker } from '@crs/kit/process/worker';
import { isEmail, unstorable } from '@crs/kit/text';
import type { Person as PersonRequest } from '@crs/proto/crs/people/v1/people';
import { readPage } from '@crs/records/export';
import { MAX_INLINE_BYTES } from '@crs/records/import-batch';
import type { RecordContext } from '@crs/records/record-service';
import type { ExportedCall } from '../../domain/export-line.ts';
import { finder, type Found } from '../../domain/person/find-in-line.ts';
import type { NamedPerson, Person } from '../../domain/person/person.ts';
import { toNamePattern } from '../../domain/stored-json/index.ts';
import { exportCalls } from '../../store/export-calls.ts';
import { linesOf, userIdsOf } from '../export-lines.ts';

/** Shorter than the deadline of `crs` and the grace period of a process. */
export const WORK_MS = 5_000;

export interface CallSearch extends Found {
  callId: string;
  projectId: string | null;
}

/** @throws ServiceError invalid_argument unless the request names a person by an e-mail or a name */
export function requirePerson({ email, name, employer }: PersonRequest): NamedPerson {
  for (const [field, text] of Object.entries({ email, name, employer })) {
    const problem = unstorable(text);
    if (problem) throw invalid(field, problem);
  }
  if ((email === '') === (name === '')) throw invalid('person', 'must have either an e-mail or a name');
  if (name === '') {
    if (!isEmail(email)) throw invalid('email', 'must be an e-mail address');
    if (employer !== '') throw invalid('employer', 'needs a name');
    return { email };
  }
  if (!toNamePattern(name)) throw invalid('name', 'must not be blank');
  return employer === '' ? { name } : { name, employer };
}

/** Searches the calls after an id: at most 1,000, or 8 MiB. `next` is null if no call is left. */
export async function searchPage(
  { importDb }: Pick<RecordContext, 'importDb'>,
  scope: Scope,
  after: string,
  person: Person,
): Promise<{ calls: CallSearch[]; next: string | null }> {
  const { rows, hasMore } = await readPage(importDb, scope, exportCalls(scope.organization, after));
  // The ids of users stand in for their e-mails, which aren't searched.
  const lines = await linesOf(scope.organization, rows, new Map(rows.flatMap(userIdsOf).map((id) => [id, id])));
  const found = await findIn(rows, lines, person);
  return { calls: found, next: hasMore ? rows.at(-1)!.callId : null };
}

/** Searches the import lines of calls. */
export async function findIn(calls: ExportedCall[], lines: Uint8Array[], person: Person): Promise<CallSearch[]> {
  const yieldWhenDue = timeSlices();
  const found: CallSearch[] = [];
  for (const [i, { callId, projectId }] of calls.entries()) {
    await yieldWhenDue();
    const input = { line: lines[i]!, person };
    const result = input.line.length > MAX_INLINE_BYTES ? await runInWorker(finder, input) : finder.run(input);
    found.push({ callId, projectId, ...result });
  }
  return found;
}
