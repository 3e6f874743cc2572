/** How long a request waited for each service, so that the log line of a slow request says where its time went. */
import { context, createContextKey, type Context } from '@opentelemetry/api';

const KEY = createContextKey('time spent');

/** Seconds by service. */
export type TimeSpent = Map<string, number>;

export function withTimeSpent(parent: Context, spent: TimeSpent): Context {
  return parent.setValue(KEY, spent);
}

/** Adds to the active request's time. Calls at the same time count twice. */
export function addTimeSpent(service: string, seconds: number): void {
  const spent = context.active().getValue(KEY) as TimeSpent | undefined;
  spent?.set(service, (spent.get(service) ?? 0) + seconds);
}
