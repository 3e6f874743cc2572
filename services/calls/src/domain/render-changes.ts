/** Renders what has changed, as JSON. */
import { formatInstant } from './instant.ts';

/** The organization's fields, or whether it anonymizes names, changed. */
export function renderAccessChanged(at: Date): string {
  return `{"type":"access.changed","call_id":null,"changed_at":"${formatInstant(at)}"}`;
}

/** @param detail the call as JSON; undefined: the change stands without it */
export function renderChange(callId: string, changedAt: Date, deleted: boolean, detail: string | undefined): string {
  const head = `{"type":"${deleted ? 'call.deleted' : 'call.changed'}","call_id":${JSON.stringify(callId)},"changed_at":"${formatInstant(changedAt)}"`;
  return detail === undefined ? `${head}}` : `${head},"call":${detail}}`;
}
