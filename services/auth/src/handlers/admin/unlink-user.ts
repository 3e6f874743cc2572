import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { UnlinkUserRequest, UnlinkUserResponse } from '@crs/proto/crs/auth/v1/admin';
import { toUser } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { noSuchUser } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { operatorEntry } from '../../store/audit.ts';
import { deleteIdentities } from '../../store/identities.ts';
import { findUser } from '../../store/users.ts';

export function unlinkUser({ db }: Context) {
  return rpc(['operator'], async (request: UnlinkUserRequest, call): Promise<UnlinkUserResponse> => {
    const scope = callerScope(call);
    const email = requireText('email', request.email, 3, 254);
    return db.transact(scope, async (query) => {
      const [user] = await query(findUser(scope.organization, email));
      if (!user) throw noSuchUser();
      await query(deleteIdentities(scope.organization, user.userId));
      await query(operatorEntry(call.identity, 'user.unlink', user.email));
      return { user: toUser(user) };
    });
  });
}
