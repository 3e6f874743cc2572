import type { Query } from '@crs/kit/data/database';
import { invalid, ServiceError } from '@crs/kit/errors';
import { isEmail } from '@crs/kit/text';
import { toUser } from '../../answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { hashPassword } from '../../domain/password.ts';
import { requirePassword } from '../../domain/password-policy.ts';
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
    const exists = async (query: Query) => {
      const [known] = await query(organizationExists(organization));
      if (!known) throw noSuchOrganization();
      return known;
    };
    let passwordHash: string | null = null;
    if (request.password !== '') {
      // Hashing takes long, so it happens outside of the transaction.
      const { name: organizationName } = await transact(exists);
      await requirePassword(request.password, [organization, organizationName, name, email]);
      passwordHash = await hashPassword(request.password);
    }
    return transact(async (query, audit) => {
      await exists(query);
      const [user] = await query(insertUser(organization, { email, name, passwordHash }));
      if (!user) throw new ServiceError('already_exists', 'A user of this organization has this e-mail.', { field: 'email' });
      await audit('user.create', user.email);
      return { user: toUser(user) };
    });
  },
);
