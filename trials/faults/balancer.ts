/** A load balancer in front of the gateways' replicas, for trials that stop some of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from '@crs/testing/send-request';
import type { Processes, ProcessName } from '@crs/testing/processes';

export type Gateways = Pick<Processes, 'apis' | 'toolAddresses' | 'ops'>;

/** The pause between two readiness checks of a replica: short compared with the drain period of a gateway. */
const PAUSE_MS = 50;
const TIMEOUT_MS = 1_000;

/**
 * Chooses among the gateways' replicas by their readiness, as a load balancer does. A gateway that stops first becomes unready. Later it closes its
 * listener, which resets connections that it hasn't accepted yet.
 */
export class Balancer {
  /** Addresses by gateway. */
  readonly #replicas: Record<'api' | 'tools', string[]>;
  readonly #ready = new Set<string>();
  #stopped = false;

  constructor({ apis, toolAddresses, ops }: Gateways) {
    this.#replicas = { api: apis.map((origin) => origin.replace('http://', '')), tools: toolAddresses };
    const watch = (service: ProcessName, addresses: string[]) => {
      for (const [index, address] of addresses.entries()) void this.#watch(address, ops(service, index + 1));
    };
    watch('api-gateway', this.#replicas.api);
    watch('tool-gateway', this.#replicas.tools);
  }

  /** Returns the addresses of a gateway's replicas in random order, ready ones first. */
  order(gateway: 'api' | 'tools'): string[] {
    const replicas = this.#replicas[gateway];
    const first = Math.floor(Math.random() * replicas.length);
    const order = [...replicas.slice(first), ...replicas.slice(0, first)];
    return [...order.filter((each) => this.#ready.has(each)), ...order.filter((each) => !this.#ready.has(each))];
  }

  stop(): void {
    this.#stopped = true;
  }

  async #watch(address: string, ops: string): Promise<void> {
    while (!this.#stopped) {
      const response = await sendRequest(`http://${ops}/readyz`, { agent: false, timeout: TIMEOUT_MS }).catch(() => undefined);
      if (response?.status === 200) this.#ready.add(address);
      else this.#ready.delete(address);
      await sleep(PAUSE_MS);
    }
  }
}
