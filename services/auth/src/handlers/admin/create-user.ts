import { invalid, ServiceError } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import { isEmail } from '@crs/kit/text';
import type { CreateUserRequest, CreateUserResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { toUser } from '../../domain/answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { hashPassword } from '../../domain/password.ts';
import { requireText } from '../../domain/settings.ts';
import { audit } from '../../store/audit.ts';
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
      if (!(await organizationExists(query, scope.organization))) throw noSuchOrganization();
      const user = await insertUser(query, scope.organization, { email, name, passwordHash });
      if (!user) throw new ServiceError('already_exists', 'A user of this organization has this e-mail.', { field: 'email' });
      await audit(query, call.identity, 'user.create', user.email);
      return { user: toUser(user) };
    });
  });
}
