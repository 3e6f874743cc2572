import { callerScope } from '@crs/kit/data/scope';
import { invalid, ServiceError } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { isEmail } from '@crs/kit/text';
import type { CreateUserRequest, CreateUserResponse } from '@crs/proto/crs/auth/v1/admin';
import { toUser } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { hashPassword } from '../../domain/password.ts';
import { requireText } from '../../domain/settings.ts';
import { operatorEntry } from '../../store/audit.ts';
import { organizationExists } from '../../store/organizations.ts';
import { insertUser } from '../../store/users.ts';

export function createUser({ db }: Context) {
  return rpc(['operator'], async (request: CreateUserRequest, call): Promise<CreateUserResponse> => {
    const scope = callerScope(call);
    const email = requireText('email', request.email, 3, 254);
    if (!isEmail(email)) throw invalid('email', 'must be of the form local@domain');
    const name = requireText('name', request.name, 1, 200);
    const passwordHash = request.password === '' ? null : await hashPassword(requireText('password', request.password, 8, 200));
    return db.transact(scope, async (query) => {
      const [known] = await query(organizationExists(scope.organization));
      if (!known) throw noSuchOrganization();
      const [user] = await query(insertUser(scope.organization, { email, name, passwordHash }));
      if (!user) throw new ServiceError('already_exists', 'A user of this organization has this e-mail.', { field: 'email' });
      await query(operatorEntry(call.identity, 'user.create', user.email));
      return { user: toUser(user) };
    });
  });
}
