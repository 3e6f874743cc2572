import { directoryScope, EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { invalid, REASONS, ServiceError } from '@crs/kit/errors';
import { digestOf } from '@crs/kit/api-key';
import { operatorRefusals } from '@crs/kit/rpc/operator-refusals';
import { requireBound } from '@crs/kit/rpc/operators';
import { rpc, type CallContext } from '@crs/kit/rpc/server';
import { ORGANIZATION_ID } from '@crs/kit/text';
import type { IssueOperatorTokenRequest, IssueOperatorTokenResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { countAction, type FrequentAction } from '../../count-action.ts';
import { findOperatorByCredential } from '../../store/operators.ts';

const TOKEN_SECONDS = 60;
const ACTION = 'operator.token';

/** A token alone does nothing, and each call with it has an entry in the audit trail. So only refusals have one here. */
export function issueOperatorToken({ db, signer }: Context) {
  const refusals = operatorRefusals();
  const refuse = async (
    error: ServiceError,
    call: CallContext<'anyone'>,
    by: Pick<FrequentAction, 'actor' | 'target' | 'source'>,
  ) => {
    refusals.add(1, { reason: error.reason });
    const entry = { organization: EVERY_ORGANIZATION, action: ACTION, outcome: error.kind, address: call.address };
    await countAction(db, { ...entry, ...by });
    return error;
  };

  return rpc({ anyone: true }, async (request: IssueOperatorTokenRequest, call): Promise<IssueOperatorTokenResponse> => {
    const [operator] = await db.read(directoryScope(call), findOperatorByCredential(digestOf(request.credential)));
    if (!operator) {
      const error = new ServiceError('unauthenticated', 'The operator credential is unknown, revoked or expired.', {
        reason: REASONS.invalidOperator,
      });
      throw await refuse(error, call, { actor: 'unknown operator', target: '', source: 'strangers' });
    }
    const { name, createdAt } = operator;
    const organization = request.organizationId || undefined;
    if (organization !== undefined) {
      if (!ORGANIZATION_ID.test(organization)) {
        throw invalid('organization', 'must be 1 to 40 of a-z, 0-9 and -, and not begin with -');
      }
      try {
        requireBound(operator, organization);
      } catch (error) {
        throw await refuse(error as ServiceError, call, { actor: name, target: organization, source: `operator ${name}` });
      }
    }
    const identity = { kind: 'operator' as const, name, since: createdAt.toISOString() };
    return {
      operatorToken: await signer.sign({ ...identity, ...(organization !== undefined && { organization }) }, TOKEN_SECONDS),
    };
  });
}
