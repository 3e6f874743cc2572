import { createHash } from 'node:crypto';
import { invalid } from '@crs/kit/errors';
import type { Encrypter } from '@crs/kit/data/encrypter';
import type { ToolCall } from '../context.ts';

interface Position {
  at: Date;
  id: string;
}

const VALID_MS = 7 * 86_400_000;

export const UNUSABLE = "can't be used here: it is for other arguments, another user, or too old. Start again without it.";

/** The cursors of one list. A cursor is an encrypted position, bound to the organization, the user, the tool and the filters. */
export class PageCursors {
  readonly #encrypter: Encrypter;
  readonly #bound: string;

  /** @param filters with defaults filled in and text folded; any value that JSON can hold */
  constructor(
    encrypter: Encrypter,
    tool: string,
    { organization, userId }: Pick<ToolCall, 'organization' | 'userId'>,
    filters: unknown,
  ) {
    this.#encrypter = encrypter;
    this.#bound = createHash('sha256')
      .update(JSON.stringify([tool, organization, userId, filters]))
      .digest('base64');
  }

  /** @returns null on the last page */
  make(next: Position | undefined, now = Date.now()): string | null {
    if (!next) return null;
    const plain = JSON.stringify([next.at.getTime(), next.id, now + VALID_MS]);
    return this.#encrypter.encrypt(Buffer.from(plain), this.#bound).toString('base64url');
  }

  /** @throws ServiceError if the cursor is for other arguments or another user, was changed, or is too old */
  read(cursor: string | undefined): Position | undefined {
    if (cursor === undefined) return undefined;
    try {
      const encrypted = Buffer.from(cursor, 'base64url');
      const [at, id, validUntil] = JSON.parse(this.#encrypter.decrypt(encrypted, this.#bound).toString()) as [
        number,
        string,
        number,
      ];
      // Decoding ignores invalid characters and spare bits, but only the issued text is accepted.
      if (encrypted.toString('base64url') === cursor && validUntil >= Date.now()) return { at: new Date(at), id };
    } catch {
      // A cursor that can't be decrypted gets the same error as an expired one.
    }
    throw invalid('cursor', UNUSABLE);
  }
}
