import type { Response } from 'express';
import { Bulkhead } from '../limits/bulkhead.ts';
import { stateOf } from './request.ts';

/** Requests of an organization that wait for a slot: more than the default limit, all of which may come at the same moment. */
const WAITING_PER_TENANT = 1_000;
/** Waiting requests cost memory. */
const WAITING = 2_000;
/** Tenants that may have all their slots at once, before they have to share. */
const BUSY_TENANTS = 16;

/** The slots of organizations at a gateway. @param perTenant how many requests of an organization are worked on at once */
export function tenantSlots(perTenant: number): Bulkhead {
  return new Bulkhead({
    name: 'tenants',
    perKey: perTenant,
    total: perTenant * BUSY_TENANTS,
    waitingPerKey: WAITING_PER_TENANT,
    waitingTotal: WAITING,
  });
}

/** Slots of clients' addresses at a gateway, for what they ask before it is known who they are. */
export function addressSlots(name: string): Bulkhead {
  return new Bulkhead({ name, perKey: 32, total: 128, waitingPerKey: WAITING, waitingTotal: WAITING });
}

/**
 * Takes a slot for a request, until its answer has left or the client has: what a request holds besides - its body, the calls for it,
 * its answer where the client reads slowly - is bounded with it.
 * @throws ServiceError overloaded, or deadline_exceeded where the client has gone
 */
export async function takeSlot(slots: Bulkhead, key: string, response: Response): Promise<void> {
  const state = stateOf(response);
  const release = await slots.acquire(key, state);
  response.once('close', release);
  // It may have closed since the slot was given.
  if (state.signal.aborted) release();
}
