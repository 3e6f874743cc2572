import { randomUUID } from 'node:crypto';
import type { Query } from '@crs/kit/data/database';
import { callerScope } from '@crs/kit/data/scope';
import { invalid, notFound, ServiceError } from '@crs/kit/errors';
import { rpc, type CallContext, type Rpcs } from '@crs/kit/rpc/server';
import { CALL_ID, lengthOf, parseUuid, unstorable } from '@crs/kit/text';
import type { CallsAdminServiceService, CreateHoldRequest } from '@crs/proto/crs/calls/v1/admin';
import { lockImports } from '@crs/records/lock-imports';
import type { RecordContext } from '@crs/records/record-service';
import * as store from '../store/holds.ts';

/** Bounds the transaction that stores them, and the time for which imports wait. */
const MAX_CALLS = 50_000;
/** An import reads the organization's holds of projects with each batch. */
const MAX_HOLDS = 1_000;
/** Well below the limits of auth. */
const REFERENCES_AT_ONCE = 2_000;
const MAX_NAMED = 3;

type Request = { label: string } & ({ projectId: string; callIds: [] } | { projectId: null; callIds: string[] });

/** Creates, lists and releases legal holds. */
export function holds({ db, importDb, auth }: RecordContext) {
  const access = { roles: ['admin'], token: 'one', bound: true } as const;
  const audit = (action: string, target: string, call: CallContext<'operator'>) =>
    auth.recordAudit({ action, target, address: call.address, counted: false }, call);
  return {
    createHold: rpc({ operator: { ...access, action: 'hold.create' } }, async (message: CreateHoldRequest, call) => {
      const request = parse(message);
      const { label, projectId, callIds } = request;
      const scope = callerScope(call);
      const { organization } = scope;
      const holdId = randomUUID();
      await audit('hold.create', `${holdId} ${projectId ?? `${callIds.length} calls`} ${label}`, call);
      await importDb.transact(scope, async (query) => {
        const [lock] = await query(lockImports('calls', organization));
        await requireRoom(query, organization);
        await requireKept(query, organization, request, auth, call);
        const hold = { holdId, label, projectId, callIds, createdAt: lock!.now, createdBy: call.identity.name };
        await store.insertHold(query, organization, hold);
      });
      return { holdId };
    }),

    listHolds: rpc({ operator: { ...access, action: 'hold.list' } }, async (_request: object, call) => {
      await audit('hold.list', '', call);
      const scope = callerScope(call);
      const rows = await db.read(scope, store.listHolds(scope.organization));
      return {
        holds: rows.map(({ projectId, calls, ...hold }) => ({
          ...hold,
          projectId: projectId ?? undefined,
          calls: projectId === null ? calls : undefined,
        })),
      };
    }),

    releaseHold: rpc({ operator: { ...access, action: 'hold.release' } }, async (request: { holdId: string }, call) => {
      const holdId = parseUuid(request.holdId);
      if (!holdId) throw invalid('hold_id', 'must be a UUID');
      await audit('hold.release', holdId, call);
      const scope = callerScope(call);
      const [released] = await importDb.transact(scope, async (query) => {
        await query(lockImports('calls', scope.organization));
        return query(store.deleteHold(scope.organization, holdId));
      });
      if (!released) throw notFound('No hold in force has this id.');
      return {};
    }),
  } satisfies Partial<Rpcs<CallsAdminServiceService>>;
}

/** @throws ServiceError invalid_argument */
function parse({ label, projectId, callIds }: CreateHoldRequest): Request {
  const problem = unstorable(label);
  if (problem) throw invalid('label', problem);
  if (lengthOf(label) < 1 || lengthOf(label) > 200) throw invalid('label', 'must be 1 to 200 characters long');
  if (projectId !== undefined) {
    const id = parseUuid(projectId);
    if (!id) throw invalid('project_id', 'must be a UUID');
    if (callIds.length > 0) throw invalid('call_ids', 'must be empty: the hold keeps a project');
    return { label, projectId: id, callIds: [] };
  }
  if (callIds.length < 1 || callIds.length > MAX_CALLS) throw invalid('call_ids', `must be 1 to ${MAX_CALLS} ids of calls`);
  if (!callIds.every((id) => CALL_ID.test(id))) throw invalid('call_ids', 'must be ids of calls');
  return { label, projectId: null, callIds: [...new Set(callIds)] };
}

async function requireRoom(query: Query, organization: string): Promise<void> {
  const [count] = await query(store.countHolds(organization));
  if (count!.holds < MAX_HOLDS) return;
  const message = `An organization has at most ${MAX_HOLDS} holds. Release one, or name more calls in one hold.`;
  throw new ServiceError('failed_precondition', message);
}

/**
 * Requires that the calls or the project exist, and that nothing on which the held calls depend is being deleted. A deletion begins at auth under the
 * lock that the transaction holds, so a later deletion will meet the hold.
 */
async function requireKept(
  query: Query,
  organization: string,
  { projectId, callIds }: Request,
  auth: RecordContext['auth'],
  call: CallContext<'operator'>,
): Promise<void> {
  const { organizationExists } = await auth.resolveReferences({ emails: [], projectIds: [] }, call);
  if (!organizationExists) throw notFound('There is no organization with this id.');
  const needed =
    projectId === null
      ? await neededByCalls(query, organization, callIds)
      : await neededByProject(query, organization, projectId);
  const { projectIds, userIds } = needed;
  while (projectIds.length > 0 || userIds.length > 0) {
    const asked = { projectIds: projectIds.splice(0, REFERENCES_AT_ONCE), userIds: userIds.splice(0, REFERENCES_AT_ONCE) };
    const found = await auth.describeReferences(asked, call);
    if (found.projects.length < asked.projectIds.length)
      throw projectId === null ? beingDeleted('a project') : invalid('project_id', 'must be a project of this organization');
    if (found.users.length < asked.userIds.length) throw beingDeleted('a user');
  }
}

async function neededByProject(query: Query, organization: string, projectId: string) {
  const users = await query(store.findUsersOfProject(organization, projectId));
  return { projectIds: [projectId], userIds: users.map(({ userId }) => userId) };
}

/** @throws ServiceError invalid_argument if a call isn't stored */
async function neededByCalls(query: Query, organization: string, callIds: string[]) {
  const calls = await query(store.findCallsToHold(organization, callIds));
  const writers = await query(store.findNoteWriters(organization, callIds));
  requireStored(callIds, new Set(calls.map(({ callId }) => callId)));
  const projectIds = new Set(calls.flatMap(({ projectId }) => projectId ?? []));
  const userIds = new Set([...writers.map(({ userId }) => userId), ...calls.flatMap(({ conductedBy }) => conductedBy ?? [])]);
  return { projectIds: [...projectIds], userIds: [...userIds] };
}

function requireStored(callIds: string[], stored: Set<string>): void {
  const unknown = callIds.filter((id) => !stored.has(id));
  if (unknown.length === 0) return;
  const more = unknown.length > MAX_NAMED ? ` and ${unknown.length - MAX_NAMED} more` : '';
  throw invalid('call_ids', `must be ids of stored calls; unknown: ${unknown.slice(0, MAX_NAMED).join(', ')}${more}`);
}

function beingDeleted(what: string): ServiceError {
  const message = `The hold can't keep these calls, because ${what} of theirs is being deleted. Run that deletion again until it ends, then create the hold.`;
  return new ServiceError('failed_precondition', message);
}
