import type { Database } from '@crs/kit/data/database';
import { directoryScope, EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { REASONS, ServiceError } from '@crs/kit/errors';
import type { Identity, Verifier } from '@crs/kit/rpc/identity';
import type { OperatorDirectory } from '@crs/kit/rpc/operators';
import { countAction, type FrequentAction } from './count-action.ts';
import { findOperator } from './store/operators.ts';

/** Reads operators from the database at each call, so a revoked operator is refused at once. */
export function createOperatorDirectory(db: Database, verify: Verifier): OperatorDirectory {
  return {
    rightsOf: async (identity, call) => {
      const [operator] = await db.read(directoryScope(call), findOperator(identity.name, identity.since));
      if (!operator) {
        throw new ServiceError('unauthenticated', 'The operator was revoked or has expired.', {
          reason: REASONS.invalidOperator,
        });
      }
      return { role: operator.role, organizations: operator.organizations };
    },
    refused: async ({ action, outcome, token, address }) => {
      const identity = token === undefined ? undefined : await verify(token).catch(() => undefined);
      await countAction(db, { ...describe(identity), action, target: '', outcome, address });
    },
  };
}

function describe(identity: Identity | undefined): Pick<FrequentAction, 'organization' | 'actor' | 'source'> {
  if (!identity) return { organization: EVERY_ORGANIZATION, actor: 'unknown operator', source: 'unauthenticated' };
  const { organization = EVERY_ORGANIZATION } = identity;
  if (identity.kind === 'operator') return { organization, actor: identity.name, source: `operator ${identity.name}` };
  if (identity.kind === 'program') return { organization, actor: identity.program, source: `program ${identity.program}` };
  const actor = identity.kind === 'organization' ? `key ${identity.keyId}` : `user ${identity.userId}`;
  return { organization, actor, source: organization };
}
