/** Renders a JSON array in pieces. Each item is rendered when the consumer reaches it. */
export function* renderList(items: Iterable<Iterable<string>>): Generator<string> {
  let separator = '[';
  for (const item of items) {
    yield separator;
    yield* item;
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

export function renderAccessChanged(at: Date): string {
  return `{"type":"access.changed","call_id":null,"changed_at":"${at.toISOString()}"}`;
}

/** @param detail the call as JSON, in pieces; undefined: without `call` */
export function* renderChange(
  callId: string,
  changedAt: Date,
  deleted: boolean,
  detail: Iterable<string> | undefined,
): Generator<string> {
  yield `{"type":"${deleted ? 'call.deleted' : 'call.changed'}","call_id":${JSON.stringify(callId)},"changed_at":"${changedAt.toISOString()}"`;
  if (detail !== undefined) {
    yield ',"call":';
    yield* detail;
  }
  yield '}';
}
