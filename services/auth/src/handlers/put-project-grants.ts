import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { Problem } from '@crs/records/import-record';
import { rpc } from '@crs/kit/rpc/server';
import { parseUuid } from '@crs/kit/text';
import type {
  CheckProjectGrantsRequest,
  CheckProjectGrantsResponse,
  GrantOutcome,
  ProjectGrant,
  PutProjectGrantsRequest,
  PutProjectGrantsResponse,
} from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { putRoles, type NamedRoles } from '../roles/put-roles.ts';
import { supposeEarlier } from '../store/suppose-earlier.ts';

const MAX_GRANTS = 1_000;
const ACCESS = { action: 'import', roles: ['admin', 'importer'], token: 'one', bound: true } as const;

export function putProjectGrants({ db }: Context) {
  return rpc({ operator: ACCESS }, async (request: PutProjectGrantsRequest, call): Promise<PutProjectGrantsResponse> => {
    const projects = parse(request.grants);
    const scope = callerScope(call);
    const outcomes = await db.transact(scope, (query) => putRoles(query, scope.organization, projects));
    return { outcomes: outcomes.map(toOutcome) };
  });
}

export function checkProjectGrants({ db }: Context) {
  return rpc({ operator: ACCESS }, async (request: CheckProjectGrantsRequest, call): Promise<CheckProjectGrantsResponse> => {
    const projects = parse(request.grants);
    const scope = callerScope(call);
    const outcomes = await db.rehearse(scope, async (query) => {
      await supposeEarlier(query, scope.organization, request.earlier);
      return putRoles(query, scope.organization, projects);
    });
    return { outcomes: outcomes.map(toOutcome) };
  });
}

function toOutcome(outcome: boolean | Problem): GrantOutcome {
  return typeof outcome === 'boolean'
    ? { changed: outcome, refusedField: '', refusedReason: '' }
    : { changed: false, refusedField: outcome.field, refusedReason: outcome.reason };
}

function parse(grants: ProjectGrant[]): NamedRoles[] {
  if (grants.length > MAX_GRANTS) throw invalid('grants', `must be at most ${MAX_GRANTS}`);
  return grants.map(parseGrant);
}

function parseGrant(grant: ProjectGrant): NamedRoles {
  const projectId = parseUuid(grant.projectId);
  if (!projectId) throw invalid('project_id', 'must be a UUID');
  const members = grant.members.map(({ email, lead }) => ({ email, role: lead ? ('lead' as const) : ('member' as const) }));
  return { projectId, createdBy: grant.createdBy ?? null, members };
}
