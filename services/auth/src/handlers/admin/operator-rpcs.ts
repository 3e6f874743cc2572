import type { Query } from '@crs/kit/data/database';
import { callerScope, everyOrganizationScope, type Scope } from '@crs/kit/data/scope';
import type { OperatorIdentity } from '@crs/kit/rpc/identity';
import type { Access, OperatorRights } from '@crs/kit/rpc/operators';
import { rpc, type CallContext, type Rpcs } from '@crs/kit/rpc/server';
import type { AuthAdminServiceService } from '@crs/proto/crs/auth/v1/admin';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../../context.ts';
import type { SettingChanges } from '../../domain/settings.ts';
import { operatorEntry } from '../../store/audit.ts';

/** The RPCs of the admin listener, and those of the internal listener by which the calls service works for an operator. */
type AdminRpcs = Omit<Rpcs<AuthAdminServiceService>, 'issueOperatorToken'> &
  Pick<Rpcs<AuthServiceService>, 'beginErasure' | 'getRetention'>;
type Request<Method extends keyof AdminRpcs> = Parameters<AdminRpcs[Method]['handle']>[0];
type Response<Method extends keyof AdminRpcs> = Awaited<ReturnType<AdminRpcs[Method]['handle']>>;

interface OperatorRpc<Method extends keyof AdminRpcs> {
  access: Access;
  handle: (request: Request<Method>, operation: Operation) => Promise<Response<Method>>;
}

export type OperatorRpcs = { [Method in keyof AdminRpcs]: OperatorRpc<Method> };

/** Writes an entry of the operator's action to the audit trail. */
type Audit = (action: string, target: string, changes?: SettingChanges) => Promise<unknown>;

/** The dependencies and the caller of one RPC. */
export interface Operation extends Context {
  identity: OperatorIdentity;
  rights: OperatorRights;
  /** The caller's IP address. */
  address: string;
  /** The organization that the token names, or every organization if it names none. */
  scope: Scope;
  /** The scope's organization. */
  organization: string;
  /** Runs `work` in a transaction with this scope. `audit` writes in the same transaction. */
  transact: <T>(work: (query: Query, audit: Audit) => Promise<T>) => Promise<T>;
  /** Suppresses the entry that a handler gets if it doesn't call `audit`. */
  auditedElsewhere: () => void;
}

/** A handler that does all its work in one transaction. */
export function inTransaction<Request, Response>(
  work: (request: Request, operation: Operation & { query: Query; audit: Audit }) => Promise<Response>,
) {
  return (request: Request, operation: Operation) =>
    operation.transact((query, audit) => work(request, { ...operation, query, audit }));
}

/** Checks the operator's access to each RPC, and gives its handler a scope and an audit trail. */
export function operatorRpcs<Method extends keyof AdminRpcs>(
  context: Context,
  rpcs: Pick<OperatorRpcs, Method>,
): Pick<AdminRpcs, Method> {
  const bound = Object.entries(rpcs).map(([method, each]) => [method, bindRpc(context, each as OperatorRpc<keyof AdminRpcs>)]);
  return Object.fromEntries(bound) as Pick<AdminRpcs, Method>;
}

/** If the handler writes no audit entry, as in a read, the call gets one under the name of its action. */
function bindRpc<Method extends keyof AdminRpcs>(context: Context, { access, handle }: OperatorRpc<Method>) {
  return rpc({ operator: access }, async (request: Request<Method>, call): Promise<Response<Method>> => {
    const { identity, rights, address } = call;
    const scope = scopeOf(call);
    const entry = (action: string, target: string, changes?: SettingChanges) =>
      operatorEntry(identity, action, target, { address, ...(changes && { changes }) });
    let isAudited = false;
    const auditedElsewhere = () => void (isAudited = true);
    const transact: Operation['transact'] = (work) =>
      context.db.transact(scope, (query) =>
        work(query, (...action) => {
          auditedElsewhere();
          return query(entry(...action));
        }),
      );
    const { organization } = scope;
    const operation = { ...context, identity, rights, address, scope, organization, transact, auditedElsewhere };
    const response = await handle(request, operation);
    // Before the response: if the entry can't be written, the call fails.
    if (!isAudited) await context.db.run(scope, entry(access.action, ''));
    return response;
  });
}

function scopeOf(call: CallContext<'operator'>): Scope {
  return call.identity.organization === undefined ? everyOrganizationScope(call) : callerScope(call);
}
