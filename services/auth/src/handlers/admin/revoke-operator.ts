import { notFound, ServiceError } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import type { RevokeOperatorRequest, RevokeOperatorResponse } from '@crs/proto/crs/auth/v1/admin';
import { toOperator } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { everyOrganization } from '../../every-organization.ts';
import { operatorEntry } from '../../store/audit.ts';
import { lockLiveOperators, revokeOperator as revoke } from '../../store/operators.ts';

export function revokeOperator({ db }: Context) {
  return rpc(['operator'], async (request: RevokeOperatorRequest, call): Promise<RevokeOperatorResponse> => {
    return db.transact(everyOrganization(call), async (query) => {
      const live = await query(lockLiveOperators());
      if (!live.some(({ name }) => name === request.name))
        throw notFound('There is no live operator with this name. "operator list" shows those that exist.');
      if (live.length === 1) {
        throw new ServiceError(
          'failed_precondition',
          'This is the last operator; nobody could create another. Create one first.',
          { field: 'name' },
        );
      }
      const [operator] = await query(revoke(request.name));
      await query(operatorEntry(call.identity, 'operator.revoke', request.name));
      return { operator: toOperator(operator!) };
    });
  });
}
