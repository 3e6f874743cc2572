import type { EraseRequest, EraseResponse } from '@crs/proto/crs/erasures/v1/erasures';
import type { Query, Statement } from '@crs/kit/data/database';
import type { Deleted } from '@crs/kit/data/delete-next';
import { callerScope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import { requireTenantDeletion } from '@crs/kit/rpc/operators';
import { rpc, type CallContext } from '@crs/kit/rpc/server';
import { eraser, inOrder, type EraseStep } from './erase-steps.ts';
import { lockImports } from './lock-imports.ts';
import type { RecordContext } from './record-service.ts';

type Target = EraseRequest['target'];

/** What the steps of an erasure need. */
interface EraseContext {
  organization: string;
  /** Runs work in a transaction that excludes imports and other erasures of the organization. */
  locked: <T>(work: (query: Query, now: Date) => Promise<T>) => Promise<T>;
  /** Returns a step that deletes all rows of a table. */
  all: (first: string, next: (organization: string, from: string) => Statement<Deleted>) => EraseStep;
}

/**
 * Creates the handler of `Erase`, for operators. The role importer is admitted because imports may delete projects and users.
 * @param requireBegun whether to refuse a project or an organization that auth hasn't marked: only the step that marks it looks for legal holds
 */
export function eraseRpc(
  service: string,
  { auth, importDb }: RecordContext,
  steps: (target: Target, context: EraseContext) => EraseStep[],
  requireBegun = true,
) {
  const access = { action: 'erase', roles: ['admin', 'manager', 'importer'], token: 'one', bound: true } as const;
  const erase = eraser();
  return rpc({ operator: access }, async ({ target }: EraseRequest, call): Promise<EraseResponse> => {
    if (target?.$case === 'organization') requireTenantDeletion(call.rights);
    if (requireBegun) await requireMarked(auth, target, call);
    const scope = callerScope(call);
    // `counted`, so that the many calls that erase a large organization share one entry.
    const entry = {
      action: `${service}.erase`,
      target: nameOf(target, scope.organization),
      address: call.address,
      counted: true,
    };
    await auth.recordAudit(entry, call);
    const { organization } = scope;
    const locked: EraseContext['locked'] = (work) =>
      importDb.transact(scope, async (query) => {
        const [lock] = await query(lockImports(service, organization));
        return work(query, lock!.now);
      });
    const all: EraseContext['all'] = (first, next) =>
      inOrder(
        first,
        (from) => next(organization, from),
        (statement) => locked((query) => query(statement)),
      );
    return { more: await erase(steps(target, { organization, locked, all })) };
  });
}

function nameOf(target: Target, organization: string): string {
  return target === undefined || target.$case === 'organization' ? organization : target.value.slice(0, 100);
}

/** A user isn't looked for, because the rows that belong only to a user aren't held outside calls. @throws ServiceError failed_precondition */
async function requireMarked(auth: RecordContext['auth'], target: Target, call: CallContext<'operator'>): Promise<void> {
  if (target === undefined || target.$case === 'userId') return;
  const projectIds = target.$case === 'projectId' ? [target.value.toLowerCase()] : [];
  const found = await auth.resolveReferences({ emails: [], projectIds }, call);
  const isMarked = target.$case === 'projectId' ? found.projectIds.length === 0 : !found.organizationExists;
  if (!isMarked) throw new ServiceError('failed_precondition', 'The deletion of the target has not begun at auth.');
}
