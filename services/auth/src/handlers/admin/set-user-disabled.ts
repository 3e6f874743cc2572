import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { SetUserDisabledRequest, SetUserDisabledResponse } from '@crs/proto/crs/auth/v1/admin';
import { toUser } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { noSuchUser } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { operatorEntry } from '../../store/audit.ts';
import { setUserDisabled as set } from '../../store/users.ts';

export function setUserDisabled({ db }: Context) {
  return rpc(['operator'], async (request: SetUserDisabledRequest, call): Promise<SetUserDisabledResponse> => {
    const scope = callerScope(call);
    const email = requireText('email', request.email, 3, 254);
    return db.transact(scope, async (query) => {
      const [user] = await query(set(scope.organization, email, request.disabled));
      if (!user) throw noSuchUser();
      await query(operatorEntry(call.identity, request.disabled ? 'user.disable' : 'user.enable', user.email));
      return { user: toUser(user) };
    });
  });
}
