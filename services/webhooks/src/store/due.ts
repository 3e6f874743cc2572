/** Which endpoints of all organizations a sender must look at. The table has no tenant content. */
import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const CLAIM = { organization: column.text, webhookId: column.text, wakes: column.bigint, slow: column.boolean };
/** An endpoint that this sender alone may deliver to, until its lease ends. */
export type Claim = column.RowOf<typeof CLAIM>;

/** A sender that dies delays its endpoints by this time. Longer than all the work of a delivery. */
export const LEASE_MS = 30_000;

/**
 * Leases endpoints that are due, those that wait longest first.
 * @param places how many, and how many of these may be slow
 */
export function claimDue(now: Date, lease: string, places: { all: number; slow: number }): Statement<Claim> {
  const next = (slow: boolean, limit: string) => `
    select organization, webhook_id from webhooks.due where due_at <= $1 and slow = ${slow} and (lease is null or leased_until < now())
    order by due_at limit ${limit} for update skip locked`;
  return {
    name: 'claim_due',
    row: CLAIM,
    text: `with fast as (${next(false, '$3::integer')}), slow as (${next(true, 'least($4::integer, $3::integer - (select count(*) from fast))')})
      update webhooks.due d set lease = $2, leased_until = now() + interval '${LEASE_MS} milliseconds' from (select * from fast union all select * from slow) n
      where d.organization = n.organization and d.webhook_id = n.webhook_id
      returning d.organization, d.webhook_id as "webhookId", d.wakes, d.slow`,
    values: [now, lease, places.all, places.slow],
  };
}

/**
 * Ends a lease. Changes nothing if the lease has ended, or the endpoint is disabled.
 * @param next when the endpoint is due again. Undefined: when there is something to deliver, which may be now
 */
export function release(
  { organization, webhookId, wakes }: Claim,
  lease: string,
  { now, next, isSlow }: { now: Date; next: Date | undefined; isSlow: boolean },
): Statement {
  return {
    name: 'release_due',
    text: `update webhooks.due set due_at = coalesce($5::timestamptz, case when wakes <> $4 then $6::timestamptz end), lease = null, leased_until = null, slow = $7
      where organization = $1 and webhook_id = $2 and lease = $3`,
    values: [organization, webhookId, lease, wakes, next ?? null, now, isSlow],
  };
}

/** What moved for an organization: its feed, or the version of its settings. */
export interface Moved {
  organization: string;
  value: number;
  /** Whether this process has not seen the value before. */
  isNew: boolean;
}

const WOKEN = { organization: column.text };

/**
 * Makes the endpoints of organizations due that haven't heard of these values yet, unless they wait for a retry. An endpoint without a value was enabled
 * after an old one was seen, and was due then: it only gets the value. Returns a row for each endpoint that is due.
 */
export function wake(
  what: 'feed_position' | 'settings_version',
  moved: readonly Moved[],
  now: Date,
): Statement<column.RowOf<typeof WOKEN>> {
  return {
    name: `wake_by_${what}`,
    row: WOKEN,
    text: `update webhooks.due d set ${what} = m.value,
        wakes = d.wakes + case when m.is_new or d.${what} >= 0 then 1 else 0 end,
        due_at = case when m.is_new or d.${what} >= 0 then coalesce(d.due_at, $4) else d.due_at end
      from unnest($1::text[], $2::bigint[], $3::boolean[]) as m (organization, value, is_new)
      where d.organization = m.organization collate "C" and d.${what} <> m.value returning d.organization`,
    values: [
      moved.map(({ organization }) => organization),
      moved.map(({ value }) => value),
      moved.map(({ isNew }) => isNew),
      now,
    ],
  };
}

/** The endpoint is enabled. It is looked at now, even if it waits for a retry. */
export function insertDue(organization: string, webhookId: string, now: Date): Statement {
  return {
    name: 'insert_due',
    text: `insert into webhooks.due (organization, webhook_id, due_at) values ($1, $2, $3)
      on conflict (organization, webhook_id) do update set due_at = excluded.due_at where due.lease is null`,
    values: [organization, webhookId, now],
  };
}

/** The endpoint is disabled or deleted, as the sender found out. Changes nothing if its lease has ended, because an operator may have enabled it since. */
export function deleteLeased({ organization, webhookId }: Claim, lease: string): Statement {
  return {
    name: 'delete_leased',
    text: 'delete from webhooks.due where organization = $1 and webhook_id = $2 and lease = $3',
    values: [organization, webhookId, lease],
  };
}

/** The endpoint is disabled or deleted. */
export function deleteDue(organization: string, webhookId: string): Statement {
  return {
    name: 'delete_due',
    text: 'delete from webhooks.due where organization = $1 and webhook_id = $2',
    values: [organization, webhookId],
  };
}

export function eraseDue(organization: string): Statement {
  return { name: 'erase_due', text: 'delete from webhooks.due where organization = $1', values: [organization] };
}

const DUE = { webhookId: column.text, dueAt: column.timestamp };

export function listDue(organization: string): Statement<column.RowOf<typeof DUE>> {
  return {
    name: 'list_due',
    row: DUE,
    text: 'select webhook_id as "webhookId", due_at as "dueAt" from webhooks.due where organization = $1 and due_at is not null',
    values: [organization],
  };
}
