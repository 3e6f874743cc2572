import { isIP } from 'node:net';
import { callerScope } from '@crs/kit/data/scope';
import { invalid, ServiceError } from '@crs/kit/errors';
import { OPERATOR_ROLES } from '@crs/kit/rpc/operators';
import { rpc, type Rpcs } from '@crs/kit/rpc/server';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { countOperatorAction } from '../count-action.ts';
import { requireText } from '../domain/settings.ts';
import { operatorEntry } from '../store/audit.ts';

/** Keeps free text of unauthenticated clients out of the audit trail. */
const NAME = /^[a-z][a-z_.-]{0,59}$/;
const RECORDS = { action: 'audit.record', roles: OPERATOR_ROLES, token: 'one', bound: true } as const;

/** For services: authenticates the operators that call their admin listeners, and records what those do. */
export function operatorCalls({ db, verify, operators }: Context) {
  return {
    checkOperator: rpc({ anyone: true }, async (_request, call) => {
      const identity = call.token === undefined ? undefined : await verify(call.token);
      if (identity?.kind !== 'operator') throw new ServiceError('unauthenticated', 'The call carries no operator token.');
      const { role, organizations } = await operators.rightsOf(identity, call);
      return { role, organizationIds: [...organizations] };
    }),

    recordAudit: rpc({ operator: RECORDS }, async (request, call) => {
      const action = requireText('action', request.action, 1, 100);
      const target = requireText('target', request.target, 0, 500);
      const address = requireText('address', request.address, 0, 45);
      const scope = callerScope(call);
      if (request.counted) await countOperatorAction(db, call.identity, { action, target, address });
      else await db.run(scope, operatorEntry(call.identity, action, target, { address }));
      return {};
    }),

    recordRefusal: rpc({ anyone: true }, async ({ action, outcome, address }, { token }) => {
      if (!NAME.test(action)) throw invalid('action', 'must be 1 to 60 of a-z, _, . and -');
      if (!NAME.test(outcome)) throw invalid('outcome', 'must be 1 to 60 of a-z, _, . and -');
      if (address !== '' && isIP(address) === 0) throw invalid('address', 'must be an IP address');
      await operators.refused({ action, outcome, token, address });
      return {};
    }),
  } satisfies Partial<Rpcs<AuthServiceService>>;
}
