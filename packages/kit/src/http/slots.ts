import type { Response } from 'express';
import { Bulkhead, type Release, type Wanted } from '../limits/bulkhead.ts';
import { BusyTenants } from './busy-tenants.ts';
import { stateOf } from './request.ts';

/** How many requests of an organization may wait for a slot: more than the default rate limit, which may arrive at one moment. */
const WAITING_PER_TENANT = 1_000;
/** How many requests may wait in all, because waiting requests cost memory. */
const WAITING = 2_000;
/** How many tenants can use all their slots at once before tenants have to share. */
const BUSY_TENANTS = 16;
/** Which part of its slots a tenant gets at once while others ask, too. */
const PART_AT_ONCE = 1 / 32;

/** Slots of organizations. */
export class TenantSlots extends Bulkhead {
  readonly #busy: BusyTenants;

  /**
   * @param perTenant how many requests of an organization are worked on at once
   * @param named how many organizations metrics may name
   */
  constructor(perTenant: number, named: number) {
    super({
      name: 'tenants',
      perKey: perTenant,
      atOnce: Math.max(1, Math.floor(perTenant * PART_AT_ONCE)),
      total: perTenant * BUSY_TENANTS,
      waitingPerKey: WAITING_PER_TENANT,
      waitingTotal: WAITING,
    });
    this.#busy = new BusyTenants(named);
  }

  override acquire(organization: string, wanted: Wanted): Release | Promise<Release> {
    const slot = super.acquire(organization, wanted);
    return slot instanceof Promise
      ? slot.then((release) => this.#measured(organization, release))
      : this.#measured(organization, slot);
  }

  override close(): void {
    this.#busy.close();
    super.close();
  }

  /** The release of a slot, whose first call adds the time for which the slot was held. */
  #measured(organization: string, release: Release): Release {
    const since = performance.now();
    let isHeld = true;
    return () => {
      if (isHeld) this.#busy.add(organization, (performance.now() - since) / 1_000);
      isHeld = false;
      release();
    };
  }
}

/** Slots of client addresses, for requests whose client isn't authenticated yet. @param name in metrics */
export function addressSlots(name: string): Bulkhead {
  return new Bulkhead({ name, perKey: 32, total: 128, waitingPerKey: WAITING, waitingTotal: WAITING });
}

/**
 * Takes a slot for a request until its answer is sent or its client is gone. The slots thereby also bound the bodies, calls and unread
 * answers of requests.
 * @throws ServiceError resource_exhausted where no slot gets free in time, deadline_exceeded where the client is gone
 */
export async function takeSlot(slots: Bulkhead, key: string, response: Response): Promise<void> {
  const state = stateOf(response);
  const release = await slots.acquire(key, state);
  response.once('close', release);
  // The response may have closed before the listener was there.
  if (state.signal.aborted) release();
}
