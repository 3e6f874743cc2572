import { hash } from 'node:crypto';
import { Encrypter } from '@crs/kit/data/encrypter';
import { invalid } from '@crs/kit/errors';

/** How far a follower has read the feed of changes. */
export interface ChangePosition {
  /** The last position read. */
  last: number;
  /** The feed's last position when the full pass began. The follower can't have a call that was deleted by then. */
  passStart: number;
  /** The id of the {@link ViewSettings} that all pages of the pass were rendered with. */
  settings: string;
}

/** Encrypts and decrypts the cursors of one feed. */
export class ChangeCursors {
  /** The feed's secret. */
  readonly secret: Buffer;
  readonly #encrypter: Encrypter;
  readonly #organization: string;

  constructor(secret: Buffer, organization: string) {
    this.secret = secret;
    this.#encrypter = new Encrypter([{ id: '0', secret: secret.toString('base64') }], 'changes');
    this.#organization = organization;
  }

  encode({ last, passStart, settings }: ChangePosition): string {
    const plain = JSON.stringify([last, passStart, settings]);
    return this.#encrypter.encrypt(Buffer.from(plain), this.#organization).toString('base64url');
  }

  /** Returns undefined if the cursor was forged or belongs to another feed. */
  decode(cursor: string): ChangePosition | undefined {
    const encrypted = Buffer.from(cursor, 'base64url');
    // Node ignores invalid characters and spare bits. Only the exact text that was issued is a cursor.
    if (encrypted.toString('base64url') !== cursor) return undefined;
    let plain: Buffer;
    try {
      plain = this.#encrypter.decrypt(encrypted, this.#organization);
    } catch {
      return undefined;
    }
    const [last, passStart, settings] = JSON.parse(plain.toString());
    return { last, passStart, settings };
  }
}

export function unusable() {
  return invalid(
    'cursor',
    "can't be used: it isn't a cursor of this organization's changes, deletions since then are forgotten, or the data was restored. Begin again without it",
  );
}

/** The settings that decide how an organization sees its calls. */
export interface ViewSettings {
  /** Dotted paths of the call detail. */
  allowedFields: string[];
  anonymize: boolean;
  /** Increases with each change of the two. */
  version: number;
  changedAt: Date;
  /** See {@link settingsId}. */
  id: string;
}

/**
 * Identifies the settings that a page is rendered with. Hashes the values besides the version, because a new release may change the default
 * fields without a new version.
 */
export function settingsId({ version, allowedFields, anonymize }: Omit<ViewSettings, 'id' | 'changedAt'>): string {
  return hash('sha256', JSON.stringify([version, allowedFields.toSorted(), anonymize]), 'base64url').slice(0, 22);
}
