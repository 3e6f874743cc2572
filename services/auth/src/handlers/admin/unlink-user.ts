import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { UnlinkUserRequest, UnlinkUserResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { toUser } from '../../domain/answers.ts';
import { noSuchUser } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { audit } from '../../store/audit.ts';
import { deleteIdentities } from '../../store/identities.ts';
import { findUser } from '../../store/users.ts';

export function unlinkUser({ db }: Context) {
  return rpc(['operator'], async (request: UnlinkUserRequest, call): Promise<UnlinkUserResponse> => {
    const scope = callerScope(call);
    const email = requireText('email', request.email, 3, 254);
    return db.transact(scope, async (query) => {
      const user = await findUser(query, scope.organization, email);
      if (!user) throw noSuchUser();
      await deleteIdentities(query, scope.organization, user.userId);
      await audit(query, call.identity, 'user.unlink', user.email);
      return { user: toUser(user) };
    });
  });
}
