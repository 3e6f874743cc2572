import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { invalid, ServiceError } from '@crs/kit/errors';
import { digestOf } from '@crs/kit/api-key';
import { OPERATOR_ROLES } from '@crs/kit/rpc/operators';
import type { CreateOperatorRequest } from '@crs/proto/crs/auth/v1/admin';
import { toOperator } from '../../answers.ts';
import { createOperatorCredential } from '../../domain/operator-credential.ts';
import { beyondOwn, lives } from '../../domain/operator-rights.ts';
import { requireText } from '../../domain/settings.ts';
import { insertOperator, lockOperators } from '../../store/operators.ts';
import { listOrganizations } from '../../store/organizations.ts';
import { operatorRpc } from './operator-rpc.ts';

const MAX_SECONDS = 100 * 365 * 86_400;
const MAX_ORGANIZATIONS = 100;

export const createOperator = operatorRpc<'createOperator'>(
  { action: 'operator.create', roles: ['admin'], token: 'none', bound: true },
  async (request, { identity, transact }) => {
    const wanted = parse(request);
    const credential = createOperatorCredential();
    return transact(async (query, audit) => {
      // Under the lock nobody is revoked. The caller may have been since the call was admitted.
      const creator = (await query(lockOperators())).find(({ name }) => name === identity.name);
      if (!creator || !lives(creator)) throw new ServiceError('unauthenticated', 'The operator was revoked or has expired.');
      const problem = beyondOwn(creator, wanted);
      if (problem) throw new ServiceError('permission_denied', `${problem.field}: ${problem.reason}`, { field: problem.field });
      const known = await query(listOrganizations(wanted.organizations.length > 0 ? wanted.organizations : EVERY_ORGANIZATION));
      if (wanted.organizations.some((id) => !known.some(({ organization }) => organization === id))) {
        throw invalid('organizations', 'must be organizations that exist. "org list" shows them');
      }
      const [operator] = await query(insertOperator({ ...wanted, digest: digestOf(credential) }));
      if (!operator) {
        throw new ServiceError('already_exists', 'An operator has this name. Revoke that one first, or choose another name.', {
          field: 'name',
        });
      }
      const { name, role, organizations, expiresAt } = operator;
      await audit('operator.create', name, {
        role: { from: null, to: role },
        organizations: { from: null, to: organizations },
        expires_at: { from: null, to: expiresAt },
      });
      return { operator: toOperator(operator), credential };
    });
  },
);

function parse({ name, role: named, organizationIds, expiresInSeconds }: CreateOperatorRequest) {
  const role = OPERATOR_ROLES.find((each) => each === (named || 'admin'));
  if (!role) throw invalid('role', `must be one of ${OPERATOR_ROLES.join(', ')}`);
  if (organizationIds.length > MAX_ORGANIZATIONS) throw invalid('organizations', `must be at most ${MAX_ORGANIZATIONS}`);
  if (expiresInSeconds > MAX_SECONDS) throw invalid('expires_in', 'must be at most 36500 days');
  return {
    name: requireText('name', name, 1, 100),
    role,
    organizations: [...new Set(organizationIds.map((id) => requireText('organizations', id, 1, 40)))].sort(),
    expiresInSeconds,
  };
}
