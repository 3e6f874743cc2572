import { directoryScope } from '@crs/kit/data/scope';
import { invalid, REASONS, ServiceError } from '@crs/kit/errors';
import { digestOf } from '@crs/kit/product/api-key';
import { rpc } from '@crs/kit/rpc/server';
import { ORGANIZATION_ID } from '@crs/kit/text';
import type { IssueOperatorTokenRequest, IssueOperatorTokenResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { findOperator } from '../../store/operators.ts';

const TOKEN_SECONDS = 60;

export function issueOperatorToken({ db, signer }: Context) {
  return rpc({ anyone: true }, async (request: IssueOperatorTokenRequest, call): Promise<IssueOperatorTokenResponse> => {
    const [operator] = await db.read(directoryScope(call), findOperator(digestOf(request.credential)));
    if (!operator)
      throw new ServiceError('unauthenticated', 'The operator credential is unknown or revoked.', {
        reason: REASONS.invalidOperator,
      });
    const organization = request.organizationId || undefined;
    if (organization !== undefined && !ORGANIZATION_ID.test(organization)) {
      throw invalid('organization', 'must be 1 to 40 of a-z, 0-9 and -, and not begin with -');
    }
    const identity = { kind: 'operator' as const, name: operator.name, ...(organization !== undefined && { organization }) };
    return { operatorToken: await signer.sign(identity, TOKEN_SECONDS) };
  });
}
