import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { Fresh } from '@crs/kit/fresh';
import type { ServiceClient } from '@crs/kit/rpc/client';
import type { OperatorDirectory, OperatorRights, OperatorRole } from '@crs/kit/rpc/operators';

/** Asks auth about operators, at most once a second for each token. While auth doesn't answer, no operator is admitted. */
export function askAboutOperators(
  auth: Pick<ServiceClient<AuthServiceService>, 'checkOperator' | 'recordRefusal'>,
): OperatorDirectory {
  const rights = new Fresh<OperatorRights>({ maxAgeMs: 1_000 });
  const ask = async (token: string): Promise<OperatorRights> => {
    const { role, organizationIds } = await auth.checkOperator({}, { token });
    return { role: role as OperatorRole, organizations: organizationIds };
  };
  return {
    rightsOf: (_identity, { token = '' }) => rights.get(token, () => ask(token)),
    refused: async ({ token, ...refusal }) => {
      await auth.recordRefusal(refusal, token === undefined ? {} : { token });
    },
  };
}
