import { callerScope } from '@crs/kit/data/scope';
import { invalid, ServiceError } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { parseUuid } from '@crs/kit/text';
import type {
  Erasure,
  ListErasedCallsRequest,
  ListErasedCallsResponse,
  ListErasuresRequest,
  ListErasuresResponse,
  RestoreErasureRequest,
  RestoreErasureResponse,
} from '@crs/proto/crs/people/v1/people';
import { lockImports } from '@crs/records/lock-imports';
import type { RecordContext } from '@crs/records/record-service';
import {
  addErasedCalls,
  beginErasure,
  ERASED_CALLS_AT_ONCE,
  findErasure,
  listErasedCalls,
  listErasures,
  pageOf,
  type ListedErasure,
  type NewErasure,
} from '../../store/erasures.ts';
import { ADMIN, AUDITOR, audited, requireOrganization } from './access.ts';

const BEGINNING = new Date(0);

/** The ledger of erasures: its export, and its restoration. */
export function ledger(context: RecordContext) {
  const { db, importDb } = context;
  return {
    listErasures: rpc(
      { operator: AUDITOR('erasures.list') },
      async (request: ListErasuresRequest, call): Promise<ListErasuresResponse> => {
        const after = request.after === '' ? null : requireId('after', request.after);
        await audited(context, call, 'erasures.list', '');
        const scope = callerScope(call);
        const { since = BEGINNING } = request;
        const { rows, more } = pageOf(await db.read(scope, listErasures(scope.organization, { since, after })));
        return { erasures: rows.map(toErasure), more };
      },
    ),

    listErasedCalls: rpc(
      { operator: AUDITOR('erasures.list') },
      async ({ erasureId, after }: ListErasedCallsRequest, call): Promise<ListErasedCallsResponse> => {
        const id = requireId('erasure_id', erasureId);
        if (after !== '') requireDigests('after', [after]);
        await audited(context, call, 'erasures.list', id);
        const scope = callerScope(call);
        const [known] = await db.read(scope, findErasure(scope.organization, id));
        if (!known) throw new ServiceError('not_found', 'The ledger has no erasure with this id.');
        const found = await db.read(scope, listErasedCalls(scope.organization, id, after));
        const { rows, more } = pageOf(found, ERASED_CALLS_AT_ONCE);
        const digests = (held: boolean) => rows.filter((row) => row.held === held).map(({ callDigest }) => callDigest);
        return { calls: digests(false), heldCalls: digests(true), next: more ? rows.at(-1)!.callDigest : '' };
      },
    ),

    restoreErasure: rpc(
      { operator: ADMIN('erasures.replay') },
      async ({ erasure }: RestoreErasureRequest, call): Promise<RestoreErasureResponse> => {
        const { calls, heldCalls, ...entry } = requireErasure(erasure);
        await audited(context, call, 'erasures.replay', entry.erasureId);
        const scope = callerScope(call);
        await importDb.transact(scope, async (query) => {
          await query(lockImports('calls', scope.organization));
          await requireOrganization(context, call);
          await query(beginErasure(scope.organization, entry));
          for (const [digests, held] of [[calls, false] as const, [heldCalls, true] as const])
            if (digests.length > 0) await query(addErasedCalls(scope.organization, entry.erasureId, digests, held));
        });
        return {};
      },
    ),
  };
}

function toErasure({
  erasureId,
  at,
  operator,
  kind,
  salt,
  email,
  names,
  employer,
  count,
  held,
  completedAt,
}: ListedErasure): Erasure {
  return {
    erasureId,
    at,
    by: operator,
    kind,
    salt,
    email: email ?? '',
    names,
    employer: employer ?? '',
    calls: [],
    heldCalls: [],
    count,
    held,
    completedAt: completedAt ?? undefined,
  };
}

const DIGEST = /^[0-9a-f]{32}$/;
const MAX_NAMES = 100;

/** @throws ServiceError invalid_argument unless it is an entry of an exported ledger */
function requireErasure(erasure: Erasure | undefined): NewErasure & { calls: string[]; heldCalls: string[] } {
  if (!erasure?.at) throw invalid('erasure', 'must have a time');
  const { at, by, kind, salt, email, names, employer, calls, heldCalls } = erasure;
  if (kind !== 'person' && kind !== 'calls') throw invalid('kind', 'must be person or calls');
  if (by.length > 200) throw invalid('by', 'must be the name of an operator');
  if (names.length > MAX_NAMES) throw invalid('names', `must be at most ${MAX_NAMES}`);
  if (calls.length + heldCalls.length > ERASED_CALLS_AT_ONCE) throw invalid('calls', `must be at most ${ERASED_CALLS_AT_ONCE}`);
  if ((email === '') === (names.length === 0)) throw invalid('email', 'or names must be set');
  for (const [field, digests] of Object.entries({ salt: [salt], names, calls, held_calls: heldCalls }))
    requireDigests(field, digests);
  for (const [field, digest] of Object.entries({ email, employer })) if (digest !== '') requireDigests(field, [digest]);
  return {
    erasureId: requireId('erasure_id', erasure.erasureId),
    at,
    operator: by,
    kind,
    salt,
    email: email || null,
    names,
    employer: employer || null,
    calls,
    heldCalls,
  };
}

function requireDigests(field: string, digests: string[]): void {
  if (!digests.every((digest) => DIGEST.test(digest))) throw invalid(field, 'must be 32 hexadecimal digits');
}

function requireId(field: string, id: string): string {
  const parsed = parseUuid(id);
  if (!parsed) throw invalid(field, 'must be a UUID');
  return parsed;
}
