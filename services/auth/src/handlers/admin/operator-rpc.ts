import type { Query } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';
import { rpc, type CallContext, type Rpcs } from '@crs/kit/rpc/server';
import type { AuthAdminServiceService } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { operatorEntry } from '../../store/audit.ts';

type AdminRpcs = Rpcs<AuthAdminServiceService>;
type Request<Method extends keyof AdminRpcs> = Parameters<AdminRpcs[Method]['handle']>[0];
type Response<Method extends keyof AdminRpcs> = Awaited<ReturnType<AdminRpcs[Method]['handle']>>;

/** What an operator's call works with. */
interface Operation extends Context {
  scope: Scope;
  /** The scope's organization. */
  organization: string;
  /** A transaction in the scope. `audit` writes the operator's action to the audit trail, in that transaction. */
  transact: <T>(work: (query: Query, audit: (action: string, target: string) => Promise<unknown>) => Promise<T>) => Promise<T>;
}

/** Defines an RPC that operators alone may call. `scopeOf` decides which organizations it works for. */
export function operatorRpc<Method extends keyof AdminRpcs>(
  scopeOf: (call: CallContext<'operator'>) => Scope,
  handle: (request: Request<Method>, operation: Operation) => Promise<Response<Method>>,
) {
  return (context: Context) =>
    rpc({ operator: true }, (request: Request<Method>, call): Promise<Response<Method>> => {
      const scope = scopeOf(call);
      const transact: Operation['transact'] = (work) =>
        context.db.transact(scope, (query) =>
          work(query, (action, target) => query(operatorEntry(call.identity, action, target))),
        );
      return handle(request, { ...context, scope, organization: scope.organization, transact });
    });
}
