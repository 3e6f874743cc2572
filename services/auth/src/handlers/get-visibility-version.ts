import { callerScope } from '@crs/kit/data/scope';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { rpc } from '@crs/kit/rpc/server';
import type { GetVisibilityVersionRequest, GetVisibilityVersionResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { visibilityVersion } from '../store/projects.ts';
import { userGone } from './get-visible-projects.ts';

export function getVisibilityVersion({ db }: Context) {
  return rpc(
    { user: OAUTH_SCOPES },
    async (_request: GetVisibilityVersionRequest, call): Promise<GetVisibilityVersionResponse> => {
      const { organization, userId } = call.identity;
      const [row] = await db.read(callerScope(call), visibilityVersion(organization, userId));
      if (!row) throw userGone();
      return { version: Number(row.version) };
    },
  );
}
