import { ServiceError } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import type { CheckOperatorRequest, CheckOperatorResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';

export function checkOperator({ verify, operators }: Context) {
  return rpc({ anyone: true }, async (_request: CheckOperatorRequest, call): Promise<CheckOperatorResponse> => {
    const identity = call.token === undefined ? undefined : await verify(call.token);
    if (identity?.kind !== 'operator') throw new ServiceError('unauthenticated', 'The call carries no operator token.');
    const { role, organizations } = await operators.rightsOf(identity, call);
    return { role, organizationIds: [...organizations] };
  });
}
