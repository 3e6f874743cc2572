import type { Rule } from '@crs/kit/rate-limit/rule';
import type { CounterStore } from '@crs/kit/rate-limit/store';

/** What the handlers work with. */
export interface Context {
  store: CounterStore;
  /** Limits by the descriptor's `kind`. */
  defaults: ReadonlyMap<string, Rule>;
}
