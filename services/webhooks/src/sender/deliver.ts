import { endpointScope, workFor, type Scope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import type { CallOptions } from '@crs/kit/rpc/client';
import type { Context } from '../context.ts';
import { delayAfter, reasonToDisable } from '../domain/retries.ts';
import type { CurrentOrganization } from '../program-tokens.ts';
import { insertDelivery, pruneDeliveries } from '../store/deliveries.ts';
import { deleteLeased, LEASE_MS, release, type Claim } from '../store/due.ts';
import { countFailure, findEndpoint, removeDelivered, type Endpoint } from '../store/endpoints.ts';
import { deleteWhole } from '../store/erase.ts';
import { attempt, ATTEMPT_TIMEOUT_MS, type Attempt } from './attempt.ts';
import { nextMessage } from './next-message.ts';

const STATEMENTS_MS = 5_000;
/** Attempts that take longer use only a part of the sender's places. */
const SLOW_MS = 2_000;
/** After a fault of ours, such as a service that is down. */
export const FAULT_DELAY_MS = 2_000;
const SUSPENDED_DELAY_MS = 60_000;

/** What a sender knows of a delivery. */
export interface Delivery {
  claim: Claim;
  lease: string;
  /** When the lease began, by `performance.now()`. */
  claimedAt: number;
}

/** When an endpoint is due again, in milliseconds. Undefined: when there is something to deliver. `never`: it is disabled or deleted. */
type Next = { inMs: number | undefined; isSlow?: boolean } | 'never';

/**
 * Delivers the next message of a leased endpoint, if there is one, and ends the lease.
 * @returns when the endpoint is due again, in milliseconds; undefined: when there is something to deliver, or never
 * @throws the error of a service or the database; the endpoint is due again after {@link FAULT_DELAY_MS}
 */
export async function deliver(context: Context, delivery: Delivery): Promise<number | undefined> {
  const { db, now } = context;
  const { claim, lease } = delivery;
  const scope = () => endpointScope(claim.organization, workFor(STATEMENTS_MS));
  let dueInMs: number | undefined;
  const endLease = (next: Next) => {
    if (next === 'never') return deleteLeased(claim, lease);
    const at = now();
    const { inMs, isSlow = false } = next;
    dueInMs = inMs;
    return release(claim, lease, { now: at, next: inMs === undefined ? undefined : new Date(at.getTime() + inMs), isSlow });
  };
  try {
    const next = await deliverNext(context, delivery, scope, endLease);
    if (next) await db.run(scope(), endLease(next));
    return dueInMs;
  } catch (error) {
    // If this fails too, the endpoint is due when the lease ends.
    await db.run(scope(), endLease({ inMs: FAULT_DELAY_MS, isSlow: true })).catch(() => {});
    throw error;
  }
}

/** @returns undefined if the lease was ended in the transaction that recorded the attempt */
async function deliverNext(
  context: Context,
  { claim, claimedAt }: Delivery,
  scope: () => Scope,
  endLease: (next: Next) => ReturnType<typeof release>,
): Promise<Next | undefined> {
  const { db } = context;
  const { organization, webhookId } = claim;
  const [endpoint] = await db.read(scope(), findEndpoint(organization, webhookId));
  if (!endpoint || endpoint.disabledBy !== null) return 'never';
  const current = await findCurrent(context, organization);
  // The organization was deleted while this service didn't run. A later one of the same id must not inherit the endpoint.
  if (current?.createdAt.getTime() !== endpoint.organizationCreatedAt.getTime()) {
    await db.transact(scope(), (query) => deleteWhole(query, organization, webhookId));
    return undefined;
  }
  const { call } = current;
  if (!call) return { inMs: SUSPENDED_DELAY_MS };
  const message = await nextMessage(context, scope(), call, endpoint);
  if (!message) return { inMs: undefined };
  // Another sender has stored a message, or this process was paused and may have lost its lease.
  if (message === 'taken' || performance.now() - claimedAt > LEASE_MS - ATTEMPT_TIMEOUT_MS) return { inMs: 0 };
  const sent = await attempt(context, organization, endpoint, { ...message, messageType: 'calls.changed' });
  if (!sent.accepted) return recordFailure(context, { scope, call, endpoint, sent, endLease });
  await db.transact(scope(), async (query) => {
    const [removed] = await query(removeDelivered(organization, webhookId, message.messageId));
    if (removed) await query(insertDelivery(organization, webhookId, sent.deliveryId, sent));
    await query(pruneDeliveries(organization, webhookId));
    await query(endLease({ inMs: message.hasMore ? 0 : undefined, isSlow: sent.durationMs > SLOW_MS }));
  });
  return undefined;
}

/** Returns undefined if the organization doesn't exist. */
async function findCurrent({ tokens }: Context, organization: string): Promise<CurrentOrganization | undefined> {
  try {
    return await tokens.organization(organization);
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'not_found') return undefined;
    throw error;
  }
}

interface Failed {
  scope: () => Scope;
  call: CallOptions;
  endpoint: Endpoint;
  sent: Attempt;
  endLease: (next: Next) => ReturnType<typeof release>;
}

async function recordFailure(context: Context, { scope, call, endpoint, sent, endLease }: Failed): Promise<undefined> {
  const { db, auth, now } = context;
  const { organization } = scope();
  const { webhookId, failures, failingSince } = endpoint;
  const reason = reasonToDisable(sent.status ?? undefined, failingSince ?? sent.at, now());
  // First, so that no endpoint is disabled without an entry. If auth is down, a later attempt disables it.
  const record = () => auth.recordProgramAction({ action: 'webhook.disable', target: `${webhookId} (${reason})` }, call);
  const isAudited = reason !== undefined && (await record().then(Boolean, () => false));
  const disabledBy = isAudited ? reason : null;
  await db.transact(scope(), async (query) => {
    const [counted] = await query(countFailure(organization, webhookId, sent.messageId, sent.at, disabledBy));
    if (counted) await query(insertDelivery(organization, webhookId, sent.deliveryId, sent));
    await query(pruneDeliveries(organization, webhookId));
    await query(endLease(counted && disabledBy ? 'never' : { inMs: delayAfter(failures + 1), isSlow: true }));
  });
  return undefined;
}
