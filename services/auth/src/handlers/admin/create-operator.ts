import { ServiceError } from '@crs/kit/errors';
import { digestOf } from '@crs/kit/product/api-key';
import { toOperator } from '../../answers.ts';
import { createOperatorCredential } from '../../domain/operator-credential.ts';
import { requireText } from '../../domain/settings.ts';
import { everyOrganization } from '../../every-organization.ts';
import { insertOperator } from '../../store/operators.ts';
import { operatorRpc } from './operator-rpc.ts';

export const createOperator = operatorRpc<'createOperator'>(everyOrganization, async (request, { transact }) => {
  const name = requireText('name', request.name, 1, 100);
  const credential = createOperatorCredential();
  return transact(async (query, audit) => {
    const [operator] = await query(insertOperator(name, digestOf(credential)));
    if (!operator) throw new ServiceError('already_exists', 'An operator has this name.', { field: 'name' });
    await audit('operator.create', name);
    return { operator: toOperator(operator), credential };
  });
});
