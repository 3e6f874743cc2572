import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Query } from '@crs/kit/data/database';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { invalid, ServiceError } from '@crs/kit/errors';
import { rpc, type CallContext } from '@crs/kit/rpc/server';
import { parseUuid } from '@crs/kit/text';
import type { ErasePersonRequest, ErasePersonResponse } from '@crs/proto/crs/people/v1/people';
import { lockImports } from '@crs/records/lock-imports';
import type { RecordContext } from '@crs/records/record-service';
import { digestPerson, type Person } from '../../domain/person/person.ts';
import { beginErasure, countCalls, findErasure, findUnfinished, type ErasureRow } from '../../store/erasures.ts';
import { ADMIN, audited, requireOrganization } from './access.ts';
import { eraseStep } from './erase-step.ts';
import { requirePerson, WORK_MS } from './search.ts';

const SALT_BYTES = 16;

type Call = CallContext<'operator'>;

/** Erases a person in steps, each one transaction that also records how far the erasure has come. */
export function erasePerson(context: RecordContext) {
  return rpc({ operator: ADMIN('person.erase') }, async (request: ErasePersonRequest, call): Promise<ErasePersonResponse> => {
    const erasureId = parseUuid(request.erasureId);
    if (!erasureId) throw invalid('erasure_id', 'must be a UUID');
    const scope = callerScope(call);
    const { entry, person } = await begin(context, scope, call, erasureId, request);
    await audited(context, call, 'person.erase', entry.erasureId);
    const [count] = await context.db.read(scope, countCalls(scope.organization));
    const until = performance.now() + WORK_MS;
    let [row, read] = [entry, 0];
    while (row.reached !== null && performance.now() < until) {
      const step = await eraseStep(context, call, scope, row, person);
      row = step.row;
      read += step.read;
    }
    const { changed, deleted, held, reached } = row;
    const progress = { read, total: count!.total };
    return { erasureId: row.erasureId, changed, deleted, held, more: reached !== null, progress };
  });
}

/** Finds the erasure of the request, or enters a new one. */
async function begin(
  context: RecordContext,
  scope: Scope,
  call: Call,
  erasureId: string,
  request: ErasePersonRequest,
): Promise<{ entry: ErasureRow; person: Person }> {
  const { organization } = scope;
  const named = request.person && requirePerson(request.person);
  return context.importDb.transact(scope, async (query) => {
    const [lock] = await query(lockImports('calls', organization));
    await requireOrganization(context, call);
    const [known] = await query(findErasure(organization, erasureId));
    if (!named) {
      if (!known) throw new ServiceError('not_found', 'The ledger has no erasure with this id.');
      return { entry: known, person: toPerson(known) };
    }
    const kind = request.deleteCalls ? 'calls' : 'person';
    const isTheirs = (row: ErasureRow) => row.kind === kind && isDeepStrictEqual(digestPerson(named, row.salt), toPerson(row));
    if (known && !isTheirs(known)) throw invalid('erasure_id', 'must not be that of another erasure');
    const entry = known ?? (await query(findUnfinished(organization, kind))).find(isTheirs);
    return { entry: entry ?? (await enter(query, organization)), person: named };

    async function enter(run: Query, id: string): Promise<ErasureRow> {
      const digests = digestPerson(named!, randomBytes(SALT_BYTES).toString('hex'));
      await run(beginErasure(id, { erasureId, at: lock!.now, operator: call.identity.name, kind, ...digests }));
      const [entered] = await run(findErasure(id, erasureId));
      return entered!;
    }
  });
}

function toPerson({ salt, email, names, employer }: ErasureRow) {
  return { salt, email, names, employer };
}
