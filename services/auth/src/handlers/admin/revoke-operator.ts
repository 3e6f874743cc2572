import { notFound, ServiceError } from '@crs/kit/errors';
import { toOperator } from '../../answers.ts';
import { isPermanentAdmin, isWithin } from '../../domain/operator-rights.ts';
import { lockOperators, revokeOperator as revoke } from '../../store/operators.ts';
import { operatorRpc } from './operator-rpc.ts';

export const revokeOperator = operatorRpc<'revokeOperator'>(
  { action: 'operator.revoke', roles: ['admin'], token: 'none', bound: true },
  async (request, { rights, transact }) =>
    transact(async (query, audit) => {
      const operators = await query(lockOperators());
      const target = operators.find(({ name }) => name === request.name);
      if (!target || !isWithin(rights, target.organizations)) {
        throw notFound('There is no live operator with this name. "operator list" shows those that exist.');
      }
      if (isPermanentAdmin(target) && operators.filter(isPermanentAdmin).length === 1) {
        throw new ServiceError(
          'failed_precondition',
          'This is the last admin of all organizations that never expires; nobody could create another. Create one first.',
          { field: 'name' },
        );
      }
      const [operator] = await query(revoke(request.name));
      await audit('operator.revoke', request.name);
      return { operator: toOperator(operator!) };
    }),
);
