import { createHash } from 'node:crypto';
import { invalid } from '@crs/kit/errors';
import type { Seal } from '@crs/kit/data/seal';
import type { ToolCall } from '../context.ts';

export interface Place {
  at: Date;
  id: string;
}

const VALID_MS = 7 * 86_400_000;

/**
 * Makes and reads the cursors of one list. A cursor is the place where the next page begins, encrypted and bound to the organization, the
 * user, the tool and the filters.
 */
export class PageCursors {
  readonly #seal: Seal;
  readonly #bound: string;

  /** @param meaning the filters, with defaults filled in and text folded; any value that JSON can hold */
  constructor(seal: Seal, tool: string, { organization, userId }: Pick<ToolCall, 'organization' | 'userId'>, meaning: unknown) {
    this.#seal = seal;
    this.#bound = createHash('sha256')
      .update(JSON.stringify([tool, organization, userId, meaning]))
      .digest('base64');
  }

  /** @returns null if there is no next page */
  make(place: Place | undefined, now = Date.now()): string | null {
    if (!place) return null;
    const plain = JSON.stringify([place.at.getTime(), place.id, now + VALID_MS]);
    return this.#seal.seal(Buffer.from(plain), this.#bound).toString('base64url');
  }

  /** @throws ServiceError if the cursor was made for other arguments or another user, was changed, or is too old */
  read(cursor: string | undefined): Place | undefined {
    if (cursor === undefined) return undefined;
    let fields: [number, string, number];
    try {
      const sealed = Buffer.from(cursor, 'base64url');
      // Decoding ignores strange characters and spare bits, and a cursor must be exactly the text that was given out.
      if (sealed.toString('base64url') !== cursor) throw unusable();
      fields = JSON.parse(this.#seal.open(sealed, this.#bound).toString());
    } catch {
      throw unusable();
    }
    const [at, id, validUntil] = fields;
    if (validUntil < Date.now()) throw unusable();
    return { at: new Date(at), id };
  }
}

export const UNUSABLE = "can't be used here: it is for other arguments, another user, or too old. Start again without it.";

function unusable() {
  return invalid('cursor', UNUSABLE);
}
