import type { Counter } from '@opentelemetry/api';
import { REASONS, toServiceError, type ServiceError } from '../errors.ts';
import type { Logger } from '../process/log.ts';
import { meter } from '../process/telemetry.ts';
import { admit, type AdmittedCallers } from './admitted-callers.ts';
import type { Identity, Verifier } from './identity.ts';
import { checkAccess, type Access, type OperatorDirectory, type OperatorRights, type IncomingCall } from './operators.ts';

/** Admits the caller, then calls `handle`. */
export type Interceptor = (
  call: IncomingCall,
  handle: (identity: Identity | undefined, rights: OperatorRights | undefined) => Promise<unknown>,
) => Promise<unknown>;

const REFUSALS = new Set(['unauthenticated', 'permission_denied']);

/**
 * The interceptor of an RPC that admits operators. It gets the operator's rights from auth, and audits each call that fails, but not those of other
 * callers that the RPC admits.
 */
export function operatorInterceptor(
  callers: AdmittedCallers & { operator: Access },
  { name, verify, operators, log }: { name: string; verify: Verifier; operators?: OperatorDirectory; log: Logger },
): Interceptor {
  const access = callers.operator;
  if (!operators) throw new Error(`${access.action} admits operators: the listener needs a directory of them.`);
  const refusals = operatorRefusals();
  const record = async (error: ServiceError, { token, address }: IncomingCall) => {
    const refusal = { action: access.action, outcome: error.kind, token, address };
    await operators.refused(refusal).catch((failure: unknown) => {
      log.warn({ err: failure, service: name, action: access.action }, 'the refusal of an operator was not recorded');
    });
  };
  return async (call, handle) => {
    let admitted = false;
    let isOther = false;
    try {
      const identity = await admit(callers, call.token, verify);
      isOther = identity?.kind !== 'operator';
      if (identity?.kind !== 'operator') return await handle(identity, undefined);
      const rights = await operators.rightsOf(identity, call);
      checkAccess(access, rights, identity.organization);
      admitted = true;
      return await handle(identity, rights);
    } catch (thrown) {
      if (isOther) throw thrown;
      const error = toServiceError(thrown);
      const isRefusal = !admitted && REFUSALS.has(error.kind);
      if (isRefusal) refusals.add(1, { reason: error.reason });
      // Not if admission failed for another reason, such as auth being down: that isn't the caller's doing.
      if (admitted || isRefusal) await record(error, call);
      throw thrown;
    }
  };
}

/** Counts operator calls that were refused before their handlers ran, by the error's reason. */
export function operatorRefusals(): Counter {
  const refusals = meter('kit').createCounter('crs.operator.refusals', {
    description: 'Refused calls for operators, by reason.',
  });
  // A counter must start at zero, or `increase()` would miss the first refusal.
  for (const reason of [REASONS.invalidOperator, REASONS.operatorRole, REASONS.operatorBound]) refusals.add(0, { reason });
  return refusals;
}
