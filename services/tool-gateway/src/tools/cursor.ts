import { createHash } from 'node:crypto';
import { invalid } from '@crs/kit/errors';
import type { Seal } from '@crs/kit/data/seal';
import type { ToolCall } from '../context.ts';

/** A place in a list by time and id. */
export interface Place {
  at: Date;
  id: string;
}

const VALID_MS = 7 * 86_400_000;

/**
 * A cursor: the place where the next page begins, sealed and bound to the organization, the user, the tool and the filters.
 * @param meaning the filters, with defaults filled in and text folded; any value that JSON can hold
 */
export function sealCursor(seal: Seal, tool: string, call: ToolCall, meaning: unknown, place: Place, now = Date.now()): string {
  const plain = JSON.stringify([place.at.getTime(), place.id, now + VALID_MS]);
  return seal.seal(Buffer.from(plain), bindingOf(tool, call, meaning)).toString('base64url');
}

/** The place in a cursor. @throws ServiceError if the cursor was made for other arguments or another user, was changed, or is too old */
export function openCursor(seal: Seal, tool: string, call: ToolCall, meaning: unknown, cursor: string, now = Date.now()): Place {
  let fields: [number, string, number];
  try {
    const sealed = Buffer.from(cursor, 'base64url');
    // Decoding ignores strange characters and spare bits, and a cursor must be exactly the text that was given out.
    if (sealed.toString('base64url') !== cursor) throw unusable();
    fields = JSON.parse(seal.open(sealed, bindingOf(tool, call, meaning)).toString());
  } catch {
    throw unusable();
  }
  const [at, id, validUntil] = fields;
  if (validUntil < now) throw unusable();
  return { at: new Date(at), id };
}

export const UNUSABLE = "can't be used here: it is for other arguments, another user, or too old. Start again without it.";

function unusable() {
  return invalid('cursor', UNUSABLE);
}

function bindingOf(tool: string, { organization, userId }: ToolCall, meaning: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([tool, organization, userId, meaning]))
    .digest('base64');
}
