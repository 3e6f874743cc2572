import { callerScope, type Scope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { CALL_ID } from '@crs/kit/text';
import type { FindPersonRequest, FindPersonResponse, FoundCall } from '@crs/proto/crs/people/v1/people';
import type { RecordContext } from '@crs/records/record-service';
import type { Holds } from '../../domain/holds.ts';
import { countCalls } from '../../store/erasures.ts';
import { findHolds } from '../../store/holds.ts';
import { ADMIN, audited } from './access.ts';
import { requirePerson, searchPage, WORK_MS } from './search.ts';

/** Far below the largest message: a call that is found has some dozen short paths. */
const MAX_FOUND = 10_000;

/** Finds a person. Reads for some seconds, and holds one page of calls at a time. */
export function findPerson(context: RecordContext) {
  return rpc({ operator: ADMIN('person.find') }, async (request: FindPersonRequest, call): Promise<FindPersonResponse> => {
    const person = requirePerson(request.person ?? { email: '', name: '', employer: '' });
    if (request.after !== '' && !CALL_ID.test(request.after)) throw invalid('after', 'must be the next of the response before');
    await audited(context, call, 'person.find', '');
    const scope = callerScope(call);
    const [count] = await context.db.read(scope, countCalls(scope.organization));
    const until = performance.now() + WORK_MS;
    const calls: FoundCall[] = [];
    let after: string | null = request.after;
    let read = 0;
    do {
      const page: Awaited<ReturnType<typeof searchPage>> = await searchPage(context, scope, after, person);
      const found = page.calls.filter(({ fields, mentions }) => fields.length + mentions.length > 0);
      const holds = await holdsOf(
        context,
        scope,
        found.map(({ callId }) => callId),
      );
      for (const { callId, projectId, fields, mentions } of found)
        calls.push({ callId, fields, mentions, held: holds.of(callId, projectId) !== undefined });
      read += page.calls.length;
      after = page.next;
    } while (after !== null && performance.now() < until && calls.length < MAX_FOUND);
    return { calls, next: after ?? '', progress: { read, total: count!.total } };
  });
}

function holdsOf({ importDb }: RecordContext, scope: Scope, callIds: string[]): Promise<Holds> {
  return importDb.transact(scope, (query) => findHolds(query, scope.organization, callIds));
}
