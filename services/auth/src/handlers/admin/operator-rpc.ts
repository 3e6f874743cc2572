import type { Query } from '@crs/kit/data/database';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import type { OperatorIdentity } from '@crs/kit/rpc/identity';
import type { Access, OperatorRights } from '@crs/kit/rpc/operators';
import { rpc, type Rpcs } from '@crs/kit/rpc/server';
import type { AuthAdminServiceService } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { everyOrganization } from '../../every-organization.ts';
import { operatorEntry, type SettingChanges } from '../../store/audit.ts';

type AdminRpcs = Rpcs<AuthAdminServiceService>;
type Request<Method extends keyof AdminRpcs> = Parameters<AdminRpcs[Method]['handle']>[0];
type Response<Method extends keyof AdminRpcs> = Awaited<ReturnType<AdminRpcs[Method]['handle']>>;

/** Writes the operator's action to the audit trail. */
export type Audit = (action: string, target: string, changes?: SettingChanges) => Promise<unknown>;

/** What an operator's call works with. */
export interface Operation extends Context {
  identity: OperatorIdentity;
  rights: OperatorRights;
  /** The caller's IP address. */
  address: string;
  /** The organization that the token names, or every organization if it names none. */
  scope: Scope;
  /** The scope's organization. */
  organization: string;
  /** A transaction in the scope. `audit` writes the operator's action to the audit trail, in that transaction. */
  transact: <T>(work: (query: Query, audit: Audit) => Promise<T>) => Promise<T>;
  /** For a call whose entry in the audit trail is written elsewhere. */
  auditedElsewhere: () => void;
}

/**
 * Defines an RPC of operators. Where the handler writes no entry to the audit trail, such as a read, the call gets one under its
 * action's name.
 */
export function operatorRpc<Method extends keyof AdminRpcs>(
  access: Access,
  handle: (request: Request<Method>, operation: Operation) => Promise<Response<Method>>,
) {
  return (context: Context) =>
    rpc({ operator: access }, async (request: Request<Method>, call): Promise<Response<Method>> => {
      const { identity, rights, address } = call;
      const scope = identity.organization === undefined ? everyOrganization(call) : callerScope(call);
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
      const response: Response<Method> = await handle(request, operation);
      // Without an entry, the caller gets no answer.
      if (!isAudited) await context.db.run(scope, entry(access.action, ''));
      return response;
    });
}
