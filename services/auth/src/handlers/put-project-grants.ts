import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { Problem } from '@crs/kit/product/import-record';
import { rpc } from '@crs/kit/rpc/server';
import { parseUuid } from '@crs/kit/text';
import type { GrantOutcome, ProjectGrant, PutProjectGrantsRequest, PutProjectGrantsResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { putRoles, type NamedRoles } from '../roles/put-roles.ts';

const MAX_GRANTS = 1_000;

export function putProjectGrants({ db }: Context) {
  const access = { action: 'import', roles: ['admin', 'importer'], token: 'one', bound: true } as const;
  return rpc({ operator: access }, async (request: PutProjectGrantsRequest, call): Promise<PutProjectGrantsResponse> => {
    if (request.grants.length > MAX_GRANTS) throw invalid('grants', `must be at most ${MAX_GRANTS}`);
    const projects = request.grants.map(parse);
    const scope = callerScope(call);
    const outcomes = await db.transact(scope, (query) => putRoles(query, scope.organization, projects));
    return { outcomes: outcomes.map(toOutcome) };
  });
}

function toOutcome(outcome: boolean | Problem): GrantOutcome {
  return typeof outcome === 'boolean'
    ? { changed: outcome, refusedField: '', refusedReason: '' }
    : { changed: false, refusedField: outcome.field, refusedReason: outcome.reason };
}

function parse(grant: ProjectGrant): NamedRoles {
  const projectId = parseUuid(grant.projectId);
  if (!projectId) throw invalid('project_id', 'must be a UUID');
  const members = grant.members.map(({ email, lead }) => ({ email, role: lead ? ('lead' as const) : ('member' as const) }));
  return { projectId, createdBy: grant.createdBy ?? null, members };
}
