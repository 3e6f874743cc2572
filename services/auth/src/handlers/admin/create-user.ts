import { invalid, ServiceError } from '@crs/kit/errors';
import { isEmail } from '@crs/kit/text';
import { toUser } from '../../answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { hashPassword } from '../../domain/password.ts';
import { requireText } from '../../domain/settings.ts';
import { organizationExists } from '../../store/organizations.ts';
import { insertUser } from '../../store/users.ts';
import { operatorRpc } from './operator-rpc.ts';

export const createUser = operatorRpc<'createUser'>(
  { action: 'user.create', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { organization, transact }) => {
    const email = requireText('email', request.email, 3, 254);
    if (!isEmail(email)) throw invalid('email', 'must be of the form local@domain');
    const name = requireText('name', request.name, 1, 200);
    const passwordHash = request.password === '' ? null : await hashPassword(requireText('password', request.password, 8, 200));
    return transact(async (query, audit) => {
      const [known] = await query(organizationExists(organization));
      if (!known) throw noSuchOrganization();
      const [user] = await query(insertUser(organization, { email, name, passwordHash }));
      if (!user) throw new ServiceError('already_exists', 'A user of this organization has this e-mail.', { field: 'email' });
      await audit('user.create', user.email);
      return { user: toUser(user) };
    });
  },
);
