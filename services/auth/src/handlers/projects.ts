import type { Query } from '@crs/kit/data/database';
import { callerScope } from '@crs/kit/data/scope';
import { invalid, unavailable } from '@crs/kit/errors';
import { rpc, type Rpcs } from '@crs/kit/rpc/server';
import { fold, parseUuid } from '@crs/kit/text';
import type { AuthServiceService, GrantOutcome, ProjectGrant } from '@crs/proto/crs/auth/v1/auth';
import type { FieldError } from '@crs/records/import-record';
import { transactIf } from '@crs/records/transact-if';
import type { Context } from '../context.ts';
import { organizationExists } from '../store/organizations.ts';
import { insertProjects, projectPeople } from '../store/projects.ts';
import { putProjects, putRoles, type ProjectGrants } from '../store/put-roles.ts';

const MAX_GRANTS = 1_000;
const IMPORTS = { action: 'import', roles: ['admin', 'importer'], token: 'one', bound: true } as const;

/** Registers projects, and stores the roles of users in them. */
export function projects({ db }: Context) {
  return {
    grantProject: rpc({ organization: { rights: ['write'], writeSurface: true } }, async (request, call) => {
      const projectId = requireId(request.projectId);
      const members = request.memberUserIds.map((userId) => ({ userId, role: 'member' as const }));
      const roles = [{ userId: request.leadUserId, role: 'lead' as const }, ...members];
      const project = { projectId, createdBy: null, roles };
      const scope = callerScope(call);
      await db.transact(scope, async (query) => {
        // A caller token stays valid for seconds after the organization's deletion has begun. Without this check, a project that is registered
        // in that time could outlive the deletion.
        const [known] = await query(organizationExists(scope.organization));
        if (!known) throw unavailable('The organization is being deleted.');
        const [inserted] = await query(insertProjects(scope.organization, [project]));
        // A repeated call must not overwrite later changes of the roles.
        if (inserted) await putProjects(query, scope.organization, [project]);
      });
      return {};
    }),

    listProjectPeople: rpc({ organization: { rights: ['read', 'write'], writeSurface: true } }, async (request, call) => {
      const scope = callerScope(call);
      const projectId = parseUuid(request.projectId);
      const rows = projectId ? await db.read(scope, projectPeople(scope.organization, projectId)) : [];
      return { people: rows.map(({ email, name, lead }) => ({ email, name: name ?? undefined, lead })) };
    }),

    putProjectGrants: rpc({ operator: IMPORTS, organization: { rights: ['ingest'] } }, async (request, call) => {
      const grants = parseGrants(request.grants);
      const supposed = new Set(request.check ? request.supposedEmails.map(fold) : []);
      const scope = callerScope(call);
      const put = (query: Query) => putRoles(query, scope.organization, grants, supposed);
      const outcomes = await transactIf(db, scope, put, () => !request.check);
      return { outcomes: outcomes.map(toOutcome) };
    }),
  } satisfies Partial<Rpcs<AuthServiceService>>;
}

function requireId(text: string): string {
  const projectId = parseUuid(text);
  if (!projectId) throw invalid('project_id', 'must be a UUID');
  return projectId;
}

function parseGrants(grants: ProjectGrant[]): ProjectGrants[] {
  if (grants.length > MAX_GRANTS) throw invalid('grants', `must be at most ${MAX_GRANTS}`);
  return grants.map((grant) => ({
    projectId: requireId(grant.projectId),
    createdBy: grant.createdBy ?? null,
    keepsCreator: grant.keepCreatedBy === true,
    keepsMembers: grant.keepMembers === true,
    members: grant.members.map(({ email, lead }) => ({ email, role: lead ? 'lead' : 'member' })),
  }));
}

function toOutcome(outcome: boolean | FieldError): GrantOutcome {
  return typeof outcome === 'boolean'
    ? { changed: outcome, refusedField: '', refusedReason: '' }
    : { changed: false, refusedField: outcome.field, refusedReason: outcome.reason };
}
