import type { Mutation } from './mutation.ts';

const ACCESS = 'packages/kit/src/rpc/operators.ts';
const LIVENESS_TEST = ['services/auth/test/operator-liveness.test.ts'];
const AUDIT_TEST = ['services/auth/test/audit.test.ts'];

/** The rights of operators, and the audit trail. */
export const operators: Mutation[] = [
  {
    name: 'operators of every role may make every call',
    file: ACCESS,
    find: 'if (!roles.includes(rights.role)) {',
    replace: 'if (roles.length === 0) {',
    tests: LIVENESS_TEST,
  },
  {
    name: 'an operator that is bound to an organization acts on others',
    file: ACCESS,
    find: 'organizations.length > 0 && !organizations.includes(organization)',
    replace: 'organizations.length > 0 && organization === undefined',
    tests: LIVENESS_TEST,
  },
  {
    name: 'a revoked operator is admitted',
    file: 'services/auth/src/store/operators.ts',
    find: `'revoked_at is null and (expires_at is null or expires_at > now())'`,
    replace: `'(expires_at is null or expires_at > now())'`,
    tests: LIVENESS_TEST,
  },
  {
    name: 'the audit trail has no entry for a revoked key',
    file: 'services/auth/src/handlers/admin/keys.ts',
    find: `await audit('key.revoke', key.keyId);`,
    replace: '',
    tests: AUDIT_TEST,
  },
  {
    name: 'the audit trail has no entry for a refused call',
    file: 'packages/kit/src/rpc/operator-interceptor.ts',
    find: 'if (admitted || isRefusal) await record(error, call);',
    replace: 'if (admitted) await record(error, call);',
    tests: AUDIT_TEST,
  },
  {
    name: 'repeated refusals of a minute count as one',
    file: 'services/auth/src/store/audit.ts',
    find: 'set count = count + $3 where',
    replace: 'set count = count + 0 * $3 where',
    tests: AUDIT_TEST,
  },
];
