import { digestOf } from '@crs/kit/api-key';
import { directoryScope, EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { invalid, notFound, REASONS, ServiceError } from '@crs/kit/errors';
import { operatorRefusals } from '@crs/kit/rpc/operator-interceptor';
import { createOperatorCredential } from '@crs/kit/operator-credential';
import { OPERATOR_ROLES, requireBound } from '@crs/kit/rpc/operators';
import { rpc } from '@crs/kit/rpc/server';
import { ORGANIZATION_ID } from '@crs/kit/text';
import type {
  CreateOperatorRequest,
  IssueOperatorTokenRequest,
  IssueOperatorTokenResponse,
  Operator,
} from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { countAction, type FrequentAction } from '../../count-action.ts';
import { isPermanentAdmin, isWithin, requireWithinOwn } from '../../domain/operators.ts';
import { requireText } from '../../domain/settings.ts';
import {
  findOperatorByCredential,
  insertOperator,
  listOperators,
  lockOperators,
  revokeOperator,
  type OperatorRow,
} from '../../store/operators.ts';
import { listOrganizations } from '../../store/organizations.ts';
import { inTransaction, type OperatorRpcs } from './operator-rpcs.ts';

const MAX_SECONDS = 100 * 365 * 86_400;
const MAX_ORGANIZATIONS = 100;
const TOKEN_SECONDS = 60;

export const operators = {
  createOperator: {
    access: { action: 'operator.create', roles: ['admin'], token: 'none', bound: true },
    handle: inTransaction(async (request, { identity, query, audit }) => {
      const wanted = parse(request);
      const credential = createOperatorCredential();
      // The caller may have been revoked since the call was admitted. Under the lock it can't be.
      const creator = (await query(lockOperators())).find(({ name }) => name === identity.name);
      if (!creator || (creator.expiresAt && creator.expiresAt <= new Date()))
        throw new ServiceError('unauthenticated', 'The operator was revoked or has expired.');
      requireWithinOwn(creator, wanted);
      const known = await query(listOrganizations(wanted.organizations));
      if (known.length < wanted.organizations.length) {
        throw invalid('organizations', 'must be organizations that exist. "org list" shows them');
      }
      const [operator] = await query(insertOperator({ ...wanted, digest: digestOf(credential) }));
      if (!operator) {
        throw new ServiceError('already_exists', 'An operator has this name. Revoke that one first, or choose another name.', {
          field: 'name',
        });
      }
      const { name, role, organizations, expiresAt } = operator;
      await audit('operator.create', name, {
        role: { from: null, to: role },
        organizations: { from: null, to: organizations },
        expires_at: { from: null, to: expiresAt },
      });
      return { operator: toOperator(operator), credential };
    }),
  },
  listOperators: {
    access: { action: 'operator.list', roles: ['admin', 'viewer', 'auditor'], token: 'none', bound: true },
    async handle(_request, { db, scope, rights }) {
      const rows = await db.read(scope, listOperators());
      return { operators: rows.filter(({ organizations }) => isWithin(rights, organizations)).map(toOperator) };
    },
  },
  revokeOperator: {
    access: { action: 'operator.revoke', roles: ['admin'], token: 'none', bound: true },
    handle: inTransaction(async ({ name }, { rights, query, audit }) => {
      const unrevoked = await query(lockOperators());
      const target = unrevoked.find((each) => each.name === name);
      if (!target || !isWithin(rights, target.organizations)) {
        throw notFound('There is no live operator with this name. "operator list" shows those that exist.');
      }
      if (isPermanentAdmin(target) && unrevoked.filter(isPermanentAdmin).length === 1) {
        throw new ServiceError(
          'failed_precondition',
          'This is the last admin of all organizations that never expires; nobody could create another. Create one first.',
          { field: 'name' },
        );
      }
      const [operator] = await query(revokeOperator(name));
      await audit('operator.revoke', name);
      return { operator: toOperator(operator!) };
    }),
  },
} satisfies Partial<OperatorRpcs>;

function parse({ name, role: roleName, organizationIds, expiresInSeconds }: CreateOperatorRequest) {
  const role = OPERATOR_ROLES.find((each) => each === (roleName || 'admin'));
  if (!role) throw invalid('role', `must be one of ${OPERATOR_ROLES.join(', ')}`);
  if (organizationIds.length > MAX_ORGANIZATIONS) throw invalid('organizations', `must be at most ${MAX_ORGANIZATIONS}`);
  if (expiresInSeconds > MAX_SECONDS) throw invalid('expires_in', 'must be at most 36500 days');
  return {
    name: requireText('name', name, 1, 100),
    role,
    organizations: [...new Set(organizationIds.map((id) => requireText('organizations', id, 1, 40)))].sort(),
    expiresInSeconds,
  };
}

function toOperator({ organizations, expiresAt, revokedAt, ...operator }: OperatorRow): Operator {
  return {
    ...operator,
    organizationIds: organizations,
    expiresAt: expiresAt ?? undefined,
    revokedAt: revokedAt ?? undefined,
  };
}

/** Audits only refusals: each call with the token has an entry of its own. */
export function issueOperatorToken({ db, signer }: Context) {
  const refusals = operatorRefusals();
  return rpc({ anyone: true }, async (request: IssueOperatorTokenRequest, call): Promise<IssueOperatorTokenResponse> => {
    const recordRefusal = async (error: ServiceError, by: Pick<FrequentAction, 'actor' | 'target' | 'source'>) => {
      refusals.add(1, { reason: error.reason });
      const entry = { organization: EVERY_ORGANIZATION, action: 'operator.token', outcome: error.kind, address: call.address };
      await countAction(db, { ...entry, ...by });
      return error;
    };
    const [operator] = await db.read(directoryScope(call), findOperatorByCredential(digestOf(request.credential)));
    if (!operator) {
      const error = new ServiceError('unauthenticated', 'The operator credential is unknown, revoked or expired.', {
        reason: REASONS.invalidOperator,
      });
      throw await recordRefusal(error, { actor: 'unknown operator', target: '', source: 'unauthenticated' });
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
        throw await recordRefusal(error as ServiceError, { actor: name, target: organization, source: `operator ${name}` });
      }
    }
    const identity = { kind: 'operator' as const, name, since: createdAt.toISOString() };
    const bound = { ...identity, ...(organization !== undefined && { organization }) };
    return { operatorToken: await signer.sign(bound, TOKEN_SECONDS) };
  });
}
