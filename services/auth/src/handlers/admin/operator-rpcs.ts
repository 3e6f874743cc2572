import type { Query } from '@crs/kit/data/database';
import { callerScope, everyOrganizationScope, type Scope } from '@crs/kit/data/scope';
import type { OperatorIdentity } from '@crs/kit/rpc/identity';
import type { Access, OperatorRights } from '@crs/kit/rpc/operators';
import { rpc, type CallContext, type Rpcs } from '@crs/kit/rpc/server';
import type { AuthAdminServiceService } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { operatorEntry, type SettingChanges } from '../../store/audit.ts';

type AdminRpcs = Omit<Rpcs<AuthAdminServiceService>, 'issueOperatorToken'>;
type Request<Method extends keyof AdminRpcs> = Parameters<AdminRpcs[Method]['handle']>[0];
type Response<Method extends keyof AdminRpcs> = Awaited<ReturnType<AdminRpcs[Method]['handle']>>;

/** An RPC of operators: the operators that it admits, and its handler. */
interface OperatorRpc<Method extends keyof AdminRpcs> {
  access: Access;
  handle: (request: Request<Method>, operation: Operation) => Promise<Response<Method>>;
}

export type OperatorRpcs = { [Method in keyof AdminRpcs]: OperatorRpc<Method> };

/** Writes the operator's action to the audit trail. */
type Audit = (action: string, target: string, changes?: SettingChanges) => Promise<unknown>;

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

/** What a handler works with in a transaction. */
type InTransaction = Operation & { query: Query; audit: Audit };

/** A handler that does all its work in one transaction. */
export function inTransaction<Request, Response>(work: (request: Request, operation: InTransaction) => Promise<Response>) {
  return (request: Request, operation: Operation) =>
    operation.transact((query, audit) => work(request, { ...operation, query, audit }));
}

/** Adds what all RPCs of operators share: their rights, their scope and their entries in the audit trail. */
export function operatorRpcs(context: Context, rpcs: OperatorRpcs): AdminRpcs {
  const bound = Object.entries(rpcs).map(([method, each]) => [method, bindRpc(context, each as OperatorRpc<keyof AdminRpcs>)]);
  return Object.fromEntries(bound) as AdminRpcs;
}

/** Where the handler writes no entry to the audit trail, such as a read, the call gets one under its action's name. */
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
    // Without an entry, the caller gets no answer.
    if (!isAudited) await context.db.run(scope, entry(access.action, ''));
    return response;
  });
}

function scopeOf(call: CallContext<'operator'>): Scope {
  return call.identity.organization === undefined ? everyOrganizationScope(call) : callerScope(call);
}
