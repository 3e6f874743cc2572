import { callerScope } from '@crs/kit/data/scope';
import { REASONS, ServiceError } from '@crs/kit/errors';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { rpc } from '@crs/kit/rpc/server';
import type { GetVisibleProjectsRequest, GetVisibleProjectsResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { visibleProjects } from '../store/projects.ts';

export function getVisibleProjects({ db }: Context) {
  return rpc({ user: OAUTH_SCOPES }, async (_request: GetVisibleProjectsRequest, call): Promise<GetVisibleProjectsResponse> => {
    const { organization, userId } = call.identity;
    const [row] = await db.read(callerScope(call), visibleProjects(organization, userId));
    if (!row) throw userGone();
    return { version: Number(row.version), projects: row.projects };
  });
}

/** A caller token can outlive its user by seconds. */
export function userGone(): ServiceError {
  return new ServiceError('unauthenticated', 'The user is gone or disabled.', { reason: REASONS.userGone });
}
