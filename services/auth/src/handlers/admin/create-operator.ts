import { digestOf } from '@crs/kit/product/api-key';
import { ServiceError } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import type { CreateOperatorRequest, CreateOperatorResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { toOperator } from '../../domain/answers.ts';
import { createOperatorCredential } from '../../domain/operator-credential.ts';
import { everyOrganization } from './every-organization.ts';
import { requireText } from '../../domain/settings.ts';
import { audit } from '../../store/audit.ts';
import { insertOperator } from '../../store/operators.ts';

export function createOperator({ db }: Context) {
  return rpc(['operator'], async (request: CreateOperatorRequest, call): Promise<CreateOperatorResponse> => {
    const scope = everyOrganization(call);
    const name = requireText('name', request.name, 1, 100);
    const credential = createOperatorCredential();
    return db.transact(scope, async (query) => {
      const operator = await insertOperator(query, name, digestOf(credential));
      if (!operator) throw new ServiceError('already_exists', 'An operator has this name.', { field: 'name' });
      await audit(query, call.identity, 'operator.create', name);
      return { operator: toOperator(operator), credential };
    });
  });
}
