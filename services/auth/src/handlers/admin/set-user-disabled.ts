import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { SetUserDisabledRequest, SetUserDisabledResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { toUser } from '../../domain/answers.ts';
import { noSuchUser } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { audit } from '../../store/audit.ts';
import { setUserDisabled as set } from '../../store/users.ts';

export function setUserDisabled({ db }: Context) {
  return rpc(['operator'], async (request: SetUserDisabledRequest, call): Promise<SetUserDisabledResponse> => {
    const scope = callerScope(call);
    const email = requireText('email', request.email, 3, 254);
    return db.transact(scope, async (query) => {
      const user = await set(query, scope.organization, email, request.disabled);
      if (!user) throw noSuchUser();
      await audit(query, call.identity, request.disabled ? 'user.disable' : 'user.enable', user.email);
      return { user: toUser(user) };
    });
  });
}
