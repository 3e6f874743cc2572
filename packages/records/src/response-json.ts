import { setImmediate as turn } from 'node:timers/promises';
import { invalid } from '@crs/kit/errors';
import { timeSlices } from '@crs/kit/process/event-loop';

/** Below the clients' gRPC message limit of 64 MiB, because exceeding that fails the stream that other requests share. */
const MAX_BYTES = 60 * 1024 * 1024;
/** In UTF-16 code units. */
const STEP_LENGTH = 64 * 1024;

/**
 * Encodes rendered JSON as UTF-8 in steps, and yields to other requests in between. Pieces from a generator are rendered along the way.
 * @throws ServiceError invalid_argument above 60 MiB: replacing a short name by a long one can multiply the length
 */
export async function toBytes(pieces: Iterable<string>): Promise<Buffer> {
  const yieldWhenDue = timeSlices();
  const steps: Buffer[] = [];
  let length = 0;
  let text = '';
  for (const piece of pieces) {
    text += piece;
    if (text.length < STEP_LENGTH) continue;
    const step = Buffer.from(text);
    text = '';
    steps.push(step);
    length += step.length;
    if (length > MAX_BYTES) throw invalid('include_verbatim', TOO_LARGE);
    await yieldWhenDue();
  }
  const rest = Buffer.from(text);
  if (steps.length === 0) return rest;
  steps.push(rest);
  const whole = Buffer.allocUnsafe(length + rest.length);
  let at = 0;
  for (const step of steps) {
    at += step.copy(whole, at);
    await yieldWhenDue();
  }
  // Serializing the message takes a turn of its own.
  await turn();
  return whole;
}

const TOO_LARGE = 'must be false here, or include_redacted or include_clean: a call is larger than 60 MiB';

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
