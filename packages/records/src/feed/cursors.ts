import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Encrypter } from '@crs/kit/data/encrypter';
import type { Database } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { Feed } from './feed.ts';

/** How far a follower has read the feed of changes. */
export interface ChangePosition {
  /** The last position read. */
  last: number;
  /** The feed's last position when the full pass began. The follower can't have a record that was deleted by then. */
  passStart: number;
  /** The id of the {@link ViewSettings} that all pages of the pass were rendered with. */
  settings: string;
}

/** The last record of a page of a list. */
export interface ListPosition {
  createdAt: Date;
  recordId: string;
}

const MAC_BYTES = 16;

/** The cursors of an organization's feed and list, which only its feed's secret makes and reads. */
export class Cursors {
  /** The feed's secret. */
  readonly secret: Buffer;
  readonly #encrypter: Encrypter;
  readonly #listKey: Buffer;
  readonly #organization: string;

  constructor(secret: Buffer, organization: string) {
    this.secret = secret;
    this.#encrypter = new Encrypter([{ id: '0', secret: secret.toString('base64') }], 'changes');
    this.#listKey = Buffer.from(hkdfSync('sha256', secret, '', 'list', 32));
    this.#organization = organization;
  }

  /** @param types that the follower reads: with others, the cursor is refused */
  encodeChange({ last, passStart, settings }: ChangePosition, types: string): string {
    const plain = JSON.stringify([last, passStart, settings]);
    return this.#encrypter.encrypt(Buffer.from(plain), this.#contextOf(types)).toString('base64url');
  }

  /** Returns undefined if the cursor was forged, or belongs to another feed or to other types. */
  decodeChange(cursor: string, types: string): ChangePosition | undefined {
    const encrypted = fromBase64url(cursor);
    if (!encrypted) return undefined;
    let plain: Buffer;
    try {
      plain = this.#encrypter.decrypt(encrypted, this.#contextOf(types));
    } catch {
      return undefined;
    }
    const [last, passStart, settings] = JSON.parse(plain.toString());
    return { last, passStart, settings };
  }

  /** Signs rather than encrypts, because the client knows the position, and because equal pages must have equal bytes for their `ETag`. */
  encodeList({ createdAt, recordId }: ListPosition): string {
    const plain = Buffer.from(JSON.stringify([createdAt.getTime(), recordId]));
    return Buffer.concat([this.#macOf(plain), plain]).toString('base64url');
  }

  /** Returns undefined if the cursor was forged or belongs to another list. */
  decodeList(cursor: string): ListPosition | undefined {
    const bytes = fromBase64url(cursor);
    if (!bytes || bytes.length <= MAC_BYTES) return undefined;
    const plain = bytes.subarray(MAC_BYTES);
    if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#macOf(plain))) return undefined;
    const [time, recordId] = JSON.parse(plain.toString()) as [number, string];
    return { createdAt: new Date(time), recordId };
  }

  #contextOf(types: string): string {
    return `${this.#organization} ${types}`;
  }

  #macOf(plain: Buffer): Buffer {
    return createHmac('sha256', this.#listKey).update(`${this.#organization} `).update(plain).digest().subarray(0, MAC_BYTES);
  }
}

/** Node ignores invalid characters and spare bits. Only the exact text that was issued is a cursor. */
function fromBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

export interface OpenedCursor<Position> {
  position: Position;
  /** The secret that it was read with. The caller compares it with that of the feed as it reads the page. */
  secret: Buffer;
}

/** Caches the secrets of recently read feeds, with the keys derived from them. Saves a query for each request with a cursor. */
export class CursorCache {
  readonly #db: Database;
  readonly #feed: Feed;
  readonly #cache = new LRUCache<string, Cursors>({ max: 10_000 });

  constructor(db: Database, feed: Feed) {
    this.#db = db;
    this.#feed = feed;
  }

  of(organization: string, secret: Buffer): Cursors {
    const cached = this.#cache.get(organization);
    if (cached?.secret.equals(secret)) return cached;
    const cursors = new Cursors(secret, organization);
    this.#cache.set(organization, cursors);
    return cursors;
  }

  /** @returns undefined if `decode` does under the feed's secret, or if the organization has no feed */
  async open<Position>(
    scope: Scope,
    decode: (cursors: Cursors) => Position | undefined,
  ): Promise<OpenedCursor<Position> | undefined> {
    const { organization } = scope;
    const cached = this.#cache.get(organization);
    const position = cached && decode(cached);
    if (cached && position) return { position, secret: cached.secret };
    const [feed] = await this.#db.read(scope, this.#feed.findSecret(organization));
    const decoded = feed && decode(this.of(organization, feed.secret));
    return decoded && { position: decoded, secret: feed.secret };
  }

  /** Reads a page, which has no row as long as the organization has no feed. Then creates the feed first. */
  async readPage<Row>(scope: Scope, read: () => Promise<Row[]>): Promise<Row[]> {
    const rows = await read();
    if (rows.length > 0) return rows;
    await this.#db.run(scope, this.#feed.begin(scope.organization));
    return read();
  }
}

export function unusableChangeCursor() {
  return invalid(
    'cursor',
    "can't be used: it isn't a cursor of this organization's changes of these types, deletions since then are forgotten, or the data was restored. Begin again without it",
  );
}

export function unusableListCursor() {
  return invalid(
    'cursor',
    "can't be used: it isn't a cursor of this organization's list, or the data was restored. Begin again without it",
  );
}
