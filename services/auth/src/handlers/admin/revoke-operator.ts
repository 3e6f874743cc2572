import { notFound, ServiceError } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import type { RevokeOperatorRequest, RevokeOperatorResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { toOperator } from '../../domain/answers.ts';
import { everyOrganization } from './every-organization.ts';
import { audit } from '../../store/audit.ts';
import { lockLiveOperators, revokeOperator as revoke } from '../../store/operators.ts';

export function revokeOperator({ db }: Context) {
  return rpc(['operator'], async (request: RevokeOperatorRequest, call): Promise<RevokeOperatorResponse> => {
    return db.transact(everyOrganization(call), async (query) => {
      const live = await lockLiveOperators(query);
      if (!live.includes(request.name))
        throw notFound('There is no live operator with this name. "operator list" shows those that exist.');
      if (live.length === 1) {
        throw new ServiceError(
          'failed_precondition',
          'This is the last operator; nobody could create another. Create one first.',
          { field: 'name' },
        );
      }
      const operator = await revoke(query, request.name);
      await audit(query, call.identity, 'operator.revoke', operator.name);
      return { operator: toOperator(operator) };
    });
  });
}
