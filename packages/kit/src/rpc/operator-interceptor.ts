import type { Counter } from '@opentelemetry/api';
import { REASONS, toServiceError, type ServiceError } from '../errors.ts';
import type { Logger } from '../process/log.ts';
import { meter } from '../process/telemetry.ts';
import { admit } from './admission.ts';
import type { Identity, OperatorIdentity, Verifier } from './identity.ts';
import { checkAccess, type Access, type OperatorDirectory, type OperatorRights, type IncomingCall } from './operators.ts';

/** Admits the caller of a call, and then has the call handled. */
export type Interceptor = (
  call: IncomingCall,
  handle: (identity: Identity | undefined, rights: OperatorRights | undefined) => Promise<unknown>,
) => Promise<unknown>;

/** Errors of admission that are the caller's fault. */
const REFUSALS = new Set(['unauthenticated', 'permission_denied']);

/** The gate of an RPC of operators. It asks auth about the operator of each call, and records each call that fails. */
export function operatorInterceptor(
  access: Access,
  { name, verify, operators, log }: { name: string; verify: Verifier; operators?: OperatorDirectory; log: Logger },
): Interceptor {
  if (!operators) throw new Error(`${access.action} admits operators: the listener needs a directory of them.`);
  const refusals = operatorRefusals();
  const record = async (error: ServiceError, { token, address }: IncomingCall) => {
    const refusal = { action: access.action, outcome: error.kind, token, address };
    await operators.refused(refusal).catch((failure: unknown) => {
      log.warn({ err: failure, service: name, action: access.action }, 'the refusal of an operator was not recorded');
    });
  };
  const admitOperator = async (call: IncomingCall) => {
    const identity = (await admit({ operator: access }, call.token, verify)) as OperatorIdentity;
    const rights = await operators.rightsOf(identity, call);
    checkAccess(access, rights, identity.organization);
    return { identity, rights };
  };
  return async (call, handle) => {
    const { identity, rights } = await admitOperator(call).catch(async (thrown: unknown) => {
      const error = toServiceError(thrown);
      if (REFUSALS.has(error.kind)) {
        refusals.add(1, { reason: error.reason });
        await record(error, call);
      }
      throw thrown;
    });
    try {
      return await handle(identity, rights);
    } catch (thrown) {
      await record(toServiceError(thrown), call);
      throw thrown;
    }
  };
}

/** Counts calls that were refused before their handlers ran, by the reason of the error. */
export function operatorRefusals(): Counter {
  const refusals = meter('kit').createCounter('crs.operator.refusals', {
    description: 'Refused calls for operators, by reason.',
  });
  // A counter must start at zero, or a graph of increases would miss the first refusal.
  for (const reason of [REASONS.invalidOperator, REASONS.operatorRole, REASONS.operatorBound]) refusals.add(0, { reason });
  return refusals;
}
