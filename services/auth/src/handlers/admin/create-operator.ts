import { ServiceError } from '@crs/kit/errors';
import { digestOf } from '@crs/kit/product/api-key';
import { rpc } from '@crs/kit/rpc/server';
import type { CreateOperatorRequest, CreateOperatorResponse } from '@crs/proto/crs/auth/v1/admin';
import { toOperator } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { createOperatorCredential } from '../../domain/operator-credential.ts';
import { requireText } from '../../domain/settings.ts';
import { everyOrganization } from '../../every-organization.ts';
import { operatorEntry } from '../../store/audit.ts';
import { insertOperator } from '../../store/operators.ts';

export function createOperator({ db }: Context) {
  return rpc(['operator'], async (request: CreateOperatorRequest, call): Promise<CreateOperatorResponse> => {
    const scope = everyOrganization(call);
    const name = requireText('name', request.name, 1, 100);
    const credential = createOperatorCredential();
    return db.transact(scope, async (query) => {
      const [operator] = await query(insertOperator(name, digestOf(credential)));
      if (!operator) throw new ServiceError('already_exists', 'An operator has this name.', { field: 'name' });
      await query(operatorEntry(call.identity, 'operator.create', name));
      return { operator: toOperator(operator), credential };
    });
  });
}
