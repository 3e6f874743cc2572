import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import type { OperatorIdentity } from '@crs/kit/rpc/identity';

/** An operator's action, to be recorded in the transaction that does it. The target is an id, an e-mail or a count, never a secret. */
export function operatorEntry(operator: OperatorIdentity, action: string, target: string): Statement {
  return auditEntry(operator.organization ?? EVERY_ORGANIZATION, operator.name, action, target);
}

/** An action of a user or of the sign-in itself. */
export function auditEntry(organization: string, actor: string, action: string, target: string): Statement {
  return {
    name: 'insert_audit',
    text: 'insert into auth.audit (organization, actor, action, target) values ($1, $2, $3, $4)',
    values: [organization, actor, action, target],
  };
}

const ENTRY = { at: column.instant, actor: column.text, action: column.text, organization: column.text, target: column.text };

/** Newest first. {@link EVERY_ORGANIZATION} lists the entries of all organizations, which takes a scope of every organization. */
export function listAudit(organization: string, limit: number): Statement<column.RowOf<typeof ENTRY>> {
  return {
    name: 'list_audit',
    row: ENTRY,
    text: `select at, actor, action, organization, target from auth.audit
      where organization = $1 or $1 = '${EVERY_ORGANIZATION}' order by audit_id desc limit $2`,
    values: [organization, limit],
  };
}
