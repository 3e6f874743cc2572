import { observeGauge } from '../process/telemetry.ts';

interface Work {
  requests: number;
  slotSeconds: number;
}

/** Work is summed over windows of this length, and the metrics show the last full one. */
const WINDOW_MS = 15_000;
/** Organizations that are told apart within a window, because each costs memory. */
const MAX_TOLD_APART = 10_000;
/** Stands for all organizations that aren't named. No id has parentheses. */
const OTHERS = '(others)';

/**
 * Names in metrics the organizations that used the most slots, and at most as many as the operator wants: each name is a series for Prometheus
 * to keep.
 */
export class BusyTenants {
  readonly #named: number;
  readonly #now: () => number;
  #window = 0;
  #sums = new Map<string, Work>();
  #last = new Map<string, Work>();
  readonly #closers: (() => void)[];

  /** @param named how many organizations may be named at a time; 0: none, and there are no metrics */
  constructor(named: number, now: () => number = Date.now) {
    this.#named = named;
    this.#now = now;
    const gauge = (name: string, description: string, value: (work: Work) => number) =>
      observeGauge('kit', name, { description }, (result) => {
        for (const [organization, work] of this.busiest()) {
          result.observe((value(work) / WINDOW_MS) * 1_000, { 'crs.organization': organization });
        }
      });
    this.#closers =
      named === 0
        ? []
        : [
            gauge('crs.tenant.slots', 'Slots that an organization used on average.', ({ slotSeconds }) => slotSeconds),
            gauge('crs.tenant.requests', 'Requests of an organization that got a slot, a second.', ({ requests }) => requests),
          ];
  }

  /** Adds a request that is done. */
  add(organization: string, slotSeconds: number): void {
    if (this.#named === 0) return;
    this.#turn();
    const key = this.#sums.size < MAX_TOLD_APART || this.#sums.has(organization) ? organization : OTHERS;
    const work = this.#sums.get(key) ?? { requests: 0, slotSeconds: 0 };
    work.requests += 1;
    work.slotSeconds += slotSeconds;
    this.#sums.set(key, work);
  }

  /** The organizations of the last full window that used the most slots, and all others as one. */
  busiest(): [organization: string, Work][] {
    this.#turn();
    const told = [...this.#last].filter(([organization]) => organization !== OTHERS);
    const sorted = told.toSorted(([, a], [, b]) => b.slotSeconds - a.slotSeconds);
    const others = { ...(this.#last.get(OTHERS) ?? { requests: 0, slotSeconds: 0 }) };
    for (const [, { requests, slotSeconds }] of sorted.slice(this.#named)) {
      others.requests += requests;
      others.slotSeconds += slotSeconds;
    }
    return [...sorted.slice(0, this.#named), [OTHERS, others]];
  }

  close(): void {
    for (const close of this.#closers) close();
  }

  /** Begins a new window if the present one is over. */
  #turn(): void {
    const window = Math.floor(this.#now() / WINDOW_MS);
    if (window === this.#window) return;
    this.#last = window === this.#window + 1 ? this.#sums : new Map();
    this.#sums = new Map();
    this.#window = window;
  }
}
