import type { Query, Statement } from '@crs/kit/data/database';
import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import type { OperatorIdentity } from '@crs/kit/rpc/identity';

export interface AuditRow {
  at: Date;
  actor: string;
  action: string;
  organization: string;
  target: string;
}

/** Notes what an operator did, in the transaction in which it is done. The target is an id, an e-mail or a count; never a secret. */
export async function audit(query: Query, operator: OperatorIdentity, action: string, target: string): Promise<void> {
  await query(auditEntry(operator.organization ?? EVERY_ORGANIZATION, operator.name, action, target));
}

/** What somebody did who is no operator. */
export function auditEntry(organization: string, actor: string, action: string, target: string): Statement {
  return {
    name: 'insert_audit',
    text: 'insert into auth.audit (organization, actor, action, target) values ($1, $2, $3, $4)',
    values: [organization, actor, action, target],
  };
}

/** Newest first: of one organization, or of everything for the scope above tenants. */
export function listAudit(query: Query, organization: string, limit: number): Promise<AuditRow[]> {
  return query<AuditRow>({
    name: 'list_audit',
    text: `select at, actor, action, organization, target from auth.audit
      where organization = $1 or $1 = '${EVERY_ORGANIZATION}' order by audit_id desc limit $2`,
    values: [organization, limit],
  });
}
