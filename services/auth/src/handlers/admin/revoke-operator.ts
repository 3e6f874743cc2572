import { notFound, ServiceError } from '@crs/kit/errors';
import { toOperator } from '../../answers.ts';
import { everyOrganization } from '../../every-organization.ts';
import { lockLiveOperators, revokeOperator as revoke } from '../../store/operators.ts';
import { operatorRpc } from './operator-rpc.ts';

export const revokeOperator = operatorRpc<'revokeOperator'>(everyOrganization, async (request, { transact }) =>
  transact(async (query, audit) => {
    const live = await query(lockLiveOperators());
    if (!live.some(({ name }) => name === request.name))
      throw notFound('There is no live operator with this name. "operator list" shows those that exist.');
    if (live.length === 1) {
      throw new ServiceError('failed_precondition', 'This is the last operator; nobody could create another. Create one first.', {
        field: 'name',
      });
    }
    const [operator] = await query(revoke(request.name));
    await audit('operator.revoke', request.name);
    return { operator: toOperator(operator!) };
  }),
);
