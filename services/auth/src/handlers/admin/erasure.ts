import type { Query } from '@crs/kit/data/database';
import { invalid } from '@crs/kit/errors';
import { requireTenantDeletion } from '@crs/kit/rpc/operators';
import { parseUuid } from '@crs/kit/text';
import type { ErasureTarget } from '@crs/proto/crs/auth/v1/auth';
import { eraser, FIRST_UUID, inOrder, once, type EraseStep } from '@crs/records/erase-steps';
import { requireText } from '../../domain/settings.ts';
import {
  findTarget,
  markOrganization,
  markProject,
  markUser,
  removeOrganization,
  removeProject,
  removeProjects,
  removeUser,
  removeUsers,
  type Target,
} from '../../store/erasures.ts';
import { waitForViewCaches } from '../../view-settings.ts';
import type { Operation, OperatorRpcs } from './operator-rpcs.ts';

/** Created on first use, because metrics are set up after modules are loaded. */
let erase: ReturnType<typeof eraser> | undefined;

/** The calls service begins deletions, so this step is on the internal listener. */
export const erasureStart = {
  beginErasure: {
    access: { action: 'erasure.begin', roles: ['admin', 'manager', 'importer'], token: 'one', bound: true },
    async handle(request, { organization, rights, transact, auditedElsewhere }) {
      const target = parseTarget(request.target);
      if (target.kind === 'organization') requireTenantDeletion(rights);
      const id = await transact(async (query, audit) => {
        if (request.check) {
          // The service that checks records the operator's call if it refuses it.
          auditedElsewhere();
          const [found] = await query(findTarget(organization, target));
          return found?.id;
        }
        const marked = await mark(query, organization, target);
        if (marked !== undefined) await audit(`${target.kind}.delete`, marked);
        return marked;
      });
      // The id may be used again at once, by an organization with other settings.
      if (id !== undefined && !request.check && target.kind === 'organization') await waitForViewCaches();
      return { found: id !== undefined, userId: target.kind === 'user' ? (id ?? '') : '' };
    },
  },
} satisfies Partial<OperatorRpcs>;

export const erasure = {
  finishErasure: {
    access: { action: 'erasure.finish', roles: ['admin', 'manager', 'importer'], token: 'one', bound: true },
    async handle(request, operation) {
      const { organization, rights, transact } = operation;
      const target = parseTarget(request.target);
      if (target.kind === 'organization') {
        requireTenantDeletion(rights);
        return { more: await (erase ??= eraser())(stepsOf(operation)) };
      }
      await transact(async (query) => {
        if (target.kind === 'project') await query(removeProject(organization, target.projectId));
        else await removeUser(query, organization, target.email);
      });
      return { more: false };
    },
  },
} satisfies Partial<OperatorRpcs>;

function parseTarget(request: ErasureTarget | undefined): Target {
  const target = request?.target;
  switch (target?.$case) {
    case 'organization':
      return { kind: 'organization' };
    case 'projectId': {
      const projectId = parseUuid(target.value);
      if (!projectId) throw invalid('id', 'must be a UUID');
      return { kind: 'project', projectId };
    }
    case 'email':
      return { kind: 'user', email: requireText('email', target.value, 3, 254) };
    default:
      throw invalid('target', 'is required');
  }
}

/** @returns the target's id; undefined if it doesn't exist */
async function mark(query: Query, organization: string, target: Target): Promise<string | undefined> {
  if (target.kind === 'organization') return (await query(markOrganization(organization)))[0]?.organization;
  if (target.kind === 'user') return (await query(markUser(organization, target.email)))[0]?.userId;
  return (await markProject(query, organization, target.projectId)) ? target.projectId : undefined;
}

/** Projects go first, because they reference the users who created them. */
function stepsOf({ organization, transact }: Operation): EraseStep[] {
  const all = (next: typeof removeProjects) =>
    inOrder(
      FIRST_UUID,
      (from) => next(organization, from),
      (statement) => transact((query) => query(statement)),
    );
  return [all(removeProjects), all(removeUsers), once(() => transact((query) => removeOrganization(query, organization)))];
}
