import type { Rule } from '@crs/kit/limits/rule';
import type { CounterStore } from './domain/counter.ts';

/** Shared by the handlers. */
export interface Context {
  store: CounterStore;
  /** Limits by the descriptor's `kind`. */
  defaults: ReadonlyMap<string, Rule>;
}
