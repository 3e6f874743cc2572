import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { LRUCache } from 'lru-cache';
import type { ServiceClient } from '../rpc/client.ts';
import type { OperatorDirectory, OperatorRights, OperatorRole } from '../rpc/operators.ts';

/** How long an answer is used, counted from its question (milliseconds). */
const REMEMBER_MS = 1_000;
/** An import uses one token for each organization. */
const MAX_REMEMBERED = 1_000;

/** Asks auth about operators, at most once a second for each token. While auth doesn't answer, no operator is admitted. */
export function askAboutOperators(
  auth: Pick<ServiceClient<AuthServiceService>, 'checkOperator' | 'recordRefusal'>,
): OperatorDirectory {
  const asked = new LRUCache<string, { at: number; answer: Promise<OperatorRights> }>({ max: MAX_REMEMBERED });

  const ask = (token: string) => {
    const question = { at: performance.now(), answer: check(token) };
    asked.set(token, question);
    // A failure isn't remembered.
    question.answer.catch(() => asked.peek(token) === question && asked.delete(token));
    return question;
  };
  // The question isn't cancelled with the call that asks first: other calls wait for the same answer.
  const check = async (token: string): Promise<OperatorRights> => {
    const { role, organizationIds } = await auth.checkOperator({}, { token });
    return { role: role as OperatorRole, organizations: organizationIds };
  };

  return {
    rightsOf: async (_identity, { token = '' }) => {
      const arrived = performance.now();
      const known = asked.get(token);
      const question = known && arrived - known.at <= REMEMBER_MS ? known : ask(token);
      const rights = await question.answer;
      // The answer aged while this call waited for it.
      if (question.at < arrived && performance.now() - question.at > REMEMBER_MS) return ask(token).answer;
      return rights;
    },
    refused: async ({ token, ...refusal }) => {
      await auth.recordRefusal(refusal, token === undefined ? {} : { token });
    },
  };
}
