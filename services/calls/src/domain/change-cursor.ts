/** The cursor of the feed of changes. */
import { hash } from 'node:crypto';
import { Seal } from '@crs/kit/data/seal';
import { invalid } from '@crs/kit/errors';

/** How far a follower has read. */
export interface ChangePosition {
  /** Changed calls follow after this place. */
  place: number;
  /** Deletions at or before this place concern no call that the follower may have: the walk began after them. */
  began: number;
  /** The id of the {@link ViewSettings} that all pages of the walk were rendered with. */
  settings: string;
}

/** Seals and opens the cursors of one feed. Only the feed with the same secret opens them. */
export class ChangeCursors {
  /** Of the feed. */
  readonly secret: Buffer;
  readonly #seal: Seal;
  readonly #organization: string;

  constructor(secret: Buffer, organization: string) {
    this.secret = secret;
    this.#seal = new Seal([{ id: '0', secret: secret.toString('base64') }], 'changes');
    this.#organization = organization;
  }

  seal({ place, began, settings }: ChangePosition): string {
    const plain = JSON.stringify([place, began, settings]);
    return this.#seal.seal(Buffer.from(plain), this.#organization).toString('base64url');
  }

  /** Undefined if the cursor is another feed's, or was changed. */
  open(cursor: string): ChangePosition | undefined {
    const sealed = Buffer.from(cursor, 'base64url');
    // Decoding ignores strange characters and spare bits, and a cursor must be exactly the text that was given out.
    if (sealed.toString('base64url') !== cursor) return undefined;
    let plain: Buffer;
    try {
      plain = this.#seal.open(sealed, this.#organization);
    } catch {
      return undefined;
    }
    const [place, began, settings] = JSON.parse(plain.toString());
    return { place, began, settings };
  }
}

export function unusable() {
  return invalid(
    'cursor',
    "can't be used: it isn't a cursor of this organization's changes, deletions since then are forgotten, or the data was restored. Begin again without it",
  );
}

/** The settings of an organization that decide how it sees its calls. */
export interface ViewSettings {
  /** Dotted paths of the call detail. */
  allowedFields: string[];
  /** Interviewees' names are shown anonymized. */
  anonymize: boolean;
  /** Rises with each change of the two. */
  version: number;
  /** When they last changed. */
  changedAt: Date;
  /** See {@link settingsId}. */
  id: string;
}

/**
 * Identifies the settings that a page is rendered with. The version tells each change apart. The values also tell changes that moved no
 * version, such as another default set in a new release.
 */
export function settingsId({ version, allowedFields, anonymize }: Omit<ViewSettings, 'id' | 'changedAt'>): string {
  return hash('sha256', JSON.stringify([version, allowedFields.toSorted(), anonymize]), 'base64url').slice(0, 22);
}
