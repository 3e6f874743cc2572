import type { Rule } from '@crs/kit/limits/rule';
import type { CounterStore } from '@crs/kit/limits/counter-store';

/** What the handlers work with. */
export interface Context {
  store: CounterStore;
  /** Limits by the descriptor's `kind`. */
  defaults: ReadonlyMap<string, Rule>;
}
