import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import type { OperatorIdentity } from '@crs/kit/rpc/identity';
import type { SettingChanges } from '../domain/settings.ts';

interface AuditDetails {
  changes?: SettingChanges;
  /** The client's IP address. */
  address?: string;
}

/** Run it in the transaction of the operator's action. The target is an id, an e-mail or a count, never a secret. */
export function operatorEntry(operator: OperatorIdentity, action: string, target: string, details?: AuditDetails): Statement {
  return auditEntry(operator.organization ?? EVERY_ORGANIZATION, operator.name, action, target, details);
}

/** For an action of a user, or of sign-in itself. */
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

/** An entry that all equal actions of a minute share. The minute is one of the database's clock. */
export interface CountedEntry {
  organization: string;
  actor: string;
  action: string;
  target: string;
  outcome: string;
  address: string;
  /** A digest that is equal for actions that share the entry. The entry keeps the target and address of the first one. */
  countedAs: Buffer;
}

/** Counts actions in this minute's entry. No row if the entry doesn't exist yet. */
export function countAgain({ organization, countedAs }: CountedEntry, count = 1): Statement<{ auditId: string }> {
  return {
    name: 'count_audit_again',
    row: { auditId: column.bigint },
    text: `update auth.audit set count = count + $3 where organization = $1 and counted_as = $2 and counted_until > now()
      returning audit_id as "auditId"`,
    values: [organization, countedAs, count],
  };
}

/** Counts actions in this minute's entry, and inserts the entry if it is missing. */
export function countFirst(
  { organization, actor, action, target, outcome, address, countedAs }: CountedEntry,
  count = 1,
): Statement {
  return {
    name: 'count_audit_first',
    text: `insert into auth.audit as a (organization, actor, action, target, outcome, address, counted_as, counted_until, count)
      values ($1, $2, $3, $4, $5, $6, $7, date_trunc('minute', now()) + interval '1 minute', $8)
      on conflict (organization, counted_as, counted_until) where counted_as is not null do update set count = a.count + excluded.count`,
    values: [organization, actor, action, target, outcome, address || null, countedAs, count],
  };
}

const ENTRY = {
  auditId: column.bigint,
  at: column.timestamp,
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

/** More than one takes a scope of every organization. */
export type OrganizationIds = readonly string[] | typeof EVERY_ORGANIZATION;

export function listAudit(ids: OrganizationIds, limit: number): Statement<EntryRow> {
  return {
    name: 'list_audit',
    row: ENTRY,
    text: `select ${COLUMNS} from auth.audit
      where organization = any ($1::text[]) or $2 order by audit_id desc limit $3`,
    values: [ids === EVERY_ORGANIZATION ? [] : ids, ids === EVERY_ORGANIZATION, limit],
  };
}

/** Leaves out entries of the current minute, whose counts may still grow. */
export function listAuditAfter(ids: OrganizationIds, auditId: number, limit: number): Statement<EntryRow> {
  return {
    name: 'list_audit_after',
    row: ENTRY,
    text: `select ${COLUMNS} from auth.audit
      where (organization = any ($1::text[]) or $2) and audit_id > $3 and (counted_until is null or counted_until <= now())
      order by audit_id limit $4`,
    values: [ids === EVERY_ORGANIZATION ? [] : ids, ids === EVERY_ORGANIZATION, auditId, limit],
  };
}

/** Of the oldest `limit` entries, deletes those that are older than `days`. */
export function deleteOldEntries(days: number, limit: number): Statement<{ auditId: string }> {
  return {
    name: 'delete_old_audit',
    row: { auditId: column.bigint },
    // Citus needs the entries as the rows of a subquery.
    text: `with oldest as materialized (select organization, audit_id, at from auth.audit order by audit_id limit $2)
      delete from auth.audit a using oldest o
      where a.organization = o.organization and a.audit_id = o.audit_id and o.at < now() - $1 * interval '1 day'
      returning a.audit_id as "auditId"`,
    values: [days, limit],
  };
}
