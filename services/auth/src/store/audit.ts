import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import type { OperatorIdentity } from '@crs/kit/rpc/identity';

/** The changed settings of an action, by name. Values are JSON; a secret has null for both. */
export type SettingChanges = Record<string, { from: unknown; to: unknown }>;

/** Parts of an entry that not all actions have. */
interface AuditDetails {
  changes?: SettingChanges;
  /** The IP address that the action came from. */
  address?: string;
}

/** An operator's action, to be recorded in the transaction that does it. The target is an id, an e-mail or a count, never a secret. */
export function operatorEntry(operator: OperatorIdentity, action: string, target: string, details?: AuditDetails): Statement {
  return auditEntry(operator.organization ?? EVERY_ORGANIZATION, operator.name, action, target, details);
}

/** An action of a user or of the sign-in itself. */
export function auditEntry(
  organization: string,
  actor: string,
  action: string,
  target: string,
  { changes, address }: AuditDetails = {},
): Statement {
  const hasChanges = changes !== undefined && Object.keys(changes).length > 0;
  return {
    name: 'insert_audit',
    text: `insert into auth.audit (organization, actor, action, target, changes, address) values ($1, $2, $3, $4, $5, $6)`,
    values: [organization, actor, action, target, hasChanges ? JSON.stringify(changes) : null, address || null],
  };
}

/** An entry that stands for all equal actions of a minute of the database's clock. */
export interface CountedEntry {
  organization: string;
  actor: string;
  action: string;
  target: string;
  outcome: string;
  address: string;
  /** The same for the actions that share the entry. Target and address are those of the first one, unless they are part of this digest. */
  countedAs: Buffer;
}

const COUNTED = { auditId: column.bigint };

/** Counts an action in the entry of this minute. No row: there is no such entry yet. */
export function countAgain({ organization, countedAs }: CountedEntry): Statement<column.RowOf<typeof COUNTED>> {
  return {
    name: 'count_audit_again',
    row: COUNTED,
    text: `update auth.audit set count = count + 1 where organization = $1 and counted_as = $2 and counted_until > now()
      returning audit_id as "auditId"`,
    values: [organization, countedAs],
  };
}

/** Counts an action in the entry of this minute, or makes that entry. */
export function countFirst({ organization, actor, action, target, outcome, address, countedAs }: CountedEntry): Statement {
  return {
    name: 'count_audit_first',
    text: `insert into auth.audit as a (organization, actor, action, target, outcome, address, counted_as, counted_until)
      values ($1, $2, $3, $4, $5, $6, $7, date_trunc('minute', now()) + interval '1 minute')
      on conflict (organization, counted_as, counted_until) where counted_as is not null do update set count = a.count + 1`,
    values: [organization, actor, action, target, outcome, address || null, countedAs],
  };
}

const ENTRY = {
  auditId: column.bigint,
  at: column.instant,
  actor: column.text,
  action: column.text,
  organization: column.text,
  target: column.text,
  outcome: column.text,
  changes: column.json<SettingChanges>().orNull,
  address: column.text.orNull,
  count: column.integer,
};
export type EntryRow = column.RowOf<typeof ENTRY>;
const COLUMNS = column.selectList(ENTRY);

/** The organizations whose entries a reader sees: one, several, or all. */
export type AuditOf = readonly string[] | typeof EVERY_ORGANIZATION;

/** Newest first. More organizations than one take a scope of every organization. */
export function listAudit(of: AuditOf, limit: number): Statement<EntryRow> {
  return {
    name: 'list_audit',
    row: ENTRY,
    text: `select ${COLUMNS} from auth.audit
      where organization = any ($1::text[]) or $2 order by audit_id desc limit $3`,
    values: [of === EVERY_ORGANIZATION ? [] : of, of === EVERY_ORGANIZATION, limit],
  };
}

/** Entries after one of them, oldest first, without the ones that still count. */
export function listAuditAfter(of: AuditOf, auditId: number, limit: number): Statement<EntryRow> {
  return {
    name: 'list_audit_after',
    row: ENTRY,
    text: `select ${COLUMNS} from auth.audit
      where (organization = any ($1::text[]) or $2) and audit_id > $3 and (counted_until is null or counted_until <= now())
      order by audit_id limit $4`,
    values: [of === EVERY_ORGANIZATION ? [] : of, of === EVERY_ORGANIZATION, auditId, limit],
  };
}

/** Deletes those of the oldest entries that are older than so many days. */
export function deleteOldEntries(days: number, limit: number): Statement<column.RowOf<typeof COUNTED>> {
  return {
    name: 'delete_old_audit',
    row: COUNTED,
    // Citus takes the entries as the rows of a subquery.
    text: `with oldest as materialized (select organization, audit_id, at from auth.audit order by audit_id limit $2)
      delete from auth.audit a using oldest o
      where a.organization = o.organization and a.audit_id = o.audit_id and o.at < now() - $1 * interval '1 day'
      returning a.audit_id as "auditId"`,
    values: [days, limit],
  };
}
