/** The messages that endpoints receive. They have ids of calls, and never content. */

export interface Message {
  /** `calls.changed` or `ping`. */
  type: 'calls.changed' | 'ping';
  /** The JSON text, which repeated deliveries send unchanged. */
  body: string;
}

/** @param changesJson the JSON array of a page of the feed */
export function changesMessage(changesJson: string, hasMore: boolean, now: Date): Message {
  return message('calls.changed', `{"changes":${changesJson},"has_more":${hasMore}}`, now);
}

/** Tells that all calls must be read again. Goes alone, because the changes before it are part of that. */
export function accessChangedMessage(changedAt: Date, now: Date): Message {
  const changes = [{ type: 'access.changed', call_id: null, changed_at: changedAt.toISOString() }];
  return changesMessage(JSON.stringify(changes), false, now);
}

export function pingMessage(now: Date): Message {
  return message('ping', '{}', now);
}

function message(type: Message['type'], data: string, now: Date): Message {
  return { type, body: `{"type":"${type}","timestamp":"${now.toISOString()}","data":${data}}` };
}
