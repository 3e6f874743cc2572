import type { Response } from 'express';
import { Bulkhead } from '../limits/bulkhead.ts';
import { BusyTenants } from './busy-tenants.ts';
import { stateOf } from './request.ts';

/** How many requests of an organization may wait for a slot: more than the default rate limit, which may arrive at one moment. */
const WAITING_PER_TENANT = 1_000;
/** How many requests may wait in all, because waiting requests cost memory. */
const WAITING = 2_000;
/** How many tenants can use all their slots at once before tenants have to share. */
const BUSY_TENANTS = 16;

/** How many requests of a tenant are worked on at once while others ask, too: a part of what a tenant alone may have, or a few. */
const PART_BESIDE_OTHERS = 1 / 16;
const FEW = 2;

/**
 * Slots of organizations. A request has a slot until its answer has left, which bounds the answers that nobody reads. Within it, the
 * request waits for its turn to be worked on, which ends when the answer is made: a crowd of one organization keeps the processes
 * behind the gateway busy with few requests at once, so another one's request finds short queues there.
 */
export class TenantSlots {
  readonly #slots: Bulkhead;
  readonly #turns: Bulkhead;
  readonly #busy: BusyTenants;

  /**
   * @param perTenant how many requests of an organization are worked on at once, if it is alone
   * @param named how many organizations metrics may name
   */
  constructor(perTenant: number, named: number) {
    const bounds = {
      perKey: perTenant,
      total: perTenant * BUSY_TENANTS,
      waitingPerKey: WAITING_PER_TENANT,
      waitingTotal: WAITING,
    };
    this.#slots = new Bulkhead({ name: 'tenants', ...bounds });
    const perKeyBesideOthers = Math.max(Math.min(FEW, perTenant), Math.floor(perTenant * PART_BESIDE_OTHERS));
    this.#turns = new Bulkhead({ name: 'turns', ...bounds, perKeyBesideOthers });
    this.#busy = new BusyTenants(named);
  }

  /** Takes a slot and a turn for a request. @throws ServiceError as {@link takeSlot} */
  async take(organization: string, response: Response): Promise<void> {
    await takeSlot(this.#slots, organization, response);
    const since = performance.now();
    response.once('close', () => this.#busy.add(organization, (performance.now() - since) / 1_000));
    await takeSlot(this.#turns, organization, response, 'prefinish');
  }

  /** Removes its gauges. */
  close(): void {
    this.#slots.close();
    this.#turns.close();
    this.#busy.close();
  }
}

/** Slots of client addresses, for requests whose client isn't authenticated yet. @param name in metrics */
export function addressSlots(name: string): Bulkhead {
  return new Bulkhead({ name, perKey: 32, total: 128, waitingPerKey: WAITING, waitingTotal: WAITING });
}

/**
 * Takes a slot for a request until its answer is sent or its client is gone. The slots thereby also bound the bodies, calls and unread
 * answers of requests.
 * @param until `prefinish`: only until the answer is made
 * @throws ServiceError resource_exhausted where no slot gets free in time, deadline_exceeded where the client is gone
 */
export async function takeSlot(
  slots: Bulkhead,
  key: string,
  response: Response,
  until: 'prefinish' | 'close' = 'close',
): Promise<void> {
  const state = stateOf(response);
  const release = await slots.acquire(key, state);
  response.once(until, release).once('close', release);
  // The response may have closed before the listener was there.
  if (state.signal.aborted) release();
}
