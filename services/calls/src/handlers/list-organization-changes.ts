import type { Database } from '@crs/kit/data/database';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { retention } from '@crs/records/retention';
import { rpc } from '@crs/kit/rpc/server';
import type { ListOrganizationChangesRequest, ListOrganizationChangesResponse } from '@crs/proto/crs/calls/v1/calls';
import { LRUCache } from 'lru-cache';
import { ChangeCursors, unusable, type ChangePosition } from '../domain/change-cursor.ts';
import { renderDetail, type DetailView } from '../domain/stored-json/index.ts';
import { renderAccessChanged, renderChange, renderList, toBytes } from '../domain/response-json.ts';
import { fieldMaskOf, includeOf } from '../domain/view.ts';
import { callOf } from '../store/details.ts';
import { beginFeed, findFeedSecret, pruneDeletions } from '../store/feed.ts';
import { listChanges, listChangesWithDetails, type EntryRow, type EntryWithDetailRow } from '../store/list-changes.ts';
import { nameSecretOf } from '../store/name-secrets.ts';
import { CurrentSettings } from './view-settings.ts';

const MAX_LIMIT = 1_000;
const MAX_LIMIT_WITH_DETAILS = 50;

/** As `deletedAfter`, excludes every deletion. */
const NO_DELETIONS = Number.MAX_SAFE_INTEGER;

export function listOrganizationChanges({ db, auth, log }: RecordContext) {
  const viewSettings = new CurrentSettings(auth);
  const feeds = new Feeds(db);
  const pruneOnRead = retention('deletions', db, log, pruneDeletions);
  return rpc(
    { organization: { rights: ['read'] } },
    async (request: ListOrganizationChangesRequest, call): Promise<ListOrganizationChangesResponse> => {
      const { limit, withDetails } = request;
      const max = withDetails ? MAX_LIMIT_WITH_DETAILS : MAX_LIMIT;
      if (limit < 1 || limit > max) throw invalid('limit', `must be 1 to ${max}`);
      const scope = callerScope(call);
      const cursor = request.cursor === undefined ? undefined : await feeds.open(scope, request.cursor);
      const position = cursor?.position;
      let settings = await viewSettings.of(call.identity, call);
      // The cursor may come from a replica that knows newer settings.
      if (position && position.settings !== settings.id) settings = await viewSettings.newest(call.identity, call);
      // Changed settings begin a new full pass, but the follower must still hear of the deletions after its position.
      const isChanged = position !== undefined && position.settings !== settings.id;
      const passStart = position && (isChanged ? Math.max(position.last, position.passStart) : position.passStart);
      const after = position === undefined || isChanged ? 0 : position.last;
      const maxEntries = isChanged ? limit - 1 : limit;
      // The extra entry tells whether more follow.
      const page = { after, deletedAfter: Math.max(after, passStart ?? NO_DELETIONS), limit: maxEntries + 1 };
      const view = { mask: fieldMaskOf(settings.allowedFields), include: includeOf(request) };
      const read = (): Promise<(EntryRow | EntryWithDetailRow)[]> =>
        withDetails
          ? db.read(scope, listChangesWithDetails(scope.organization, page, { ...view, anonymize: settings.anonymize }))
          : db.read(scope, listChanges(scope.organization, page));
      const rows = await readFeed(db, scope, cursor !== undefined, read);
      const { secret, head, pruned } = rows[0]!;
      if (cursor) checkCursor(cursor, { secret, head: Number(head), pruned: Number(pruned) });

      const anonymizeWith =
        withDetails && settings.anonymize ? await nameSecretOf(db, scope, (rows[0] as EntryWithDetailRow).nameSecret) : undefined;
      const found = rows.filter(isEntry);
      const entries = readEntries(found.slice(0, maxEntries));
      const hasMore = entries.length < found.length;
      // A follower that has read everything misses no deletion that is pruned.
      if (!hasMore) await pruneOnRead(scope);
      const last = hasMore ? Number(entries.at(-1)?.position ?? after) : Number(head);
      const next: ChangePosition = { last, passStart: passStart ?? Number(head), settings: settings.id };
      const changes = [
        ...(isChanged ? [[renderAccessChanged(settings.changedAt)]] : []),
        ...entries.map((entry) => renderEntry(entry, withDetails ? { ...view, anonymizeWith } : undefined)),
      ];
      return {
        changesJson: await toBytes(renderList(changes)),
        nextCursor: feeds.cursorsOf(scope.organization, secret).encode(next),
        hasMore,
        changeCount: changes.length,
        firstCallId: entries[0]?.callId,
        lastCallId: entries.at(-1)?.callId,
      };
    },
  );
}

interface OpenedCursor {
  position: ChangePosition;
  secret: Buffer;
}

/** Caches the secrets of recently read feeds, with the keys derived from them. Saves a query for each request with a cursor. */
class Feeds {
  readonly #db: Database;
  readonly #cache = new LRUCache<string, ChangeCursors>({ max: 10_000 });

  constructor(db: Database) {
    this.#db = db;
  }

  cursorsOf(organization: string, secret: Buffer): ChangeCursors {
    const cached = this.#cache.get(organization);
    if (cached?.secret.equals(secret)) return cached;
    const cursors = new ChangeCursors(secret, organization);
    this.#cache.set(organization, cursors);
    return cursors;
  }

  /** @throws ServiceError if the cursor was forged or belongs to another feed */
  async open(scope: Scope, cursor: string): Promise<OpenedCursor> {
    const { organization } = scope;
    const cached = this.#cache.get(organization);
    const position = cached?.decode(cursor);
    if (cached && position) return { position, secret: cached.secret };
    const [feed] = await this.#db.read(scope, findFeedSecret(organization));
    const decoded = feed && this.cursorsOf(organization, feed.secret).decode(cursor);
    if (!decoded) throw unusable();
    return { position: decoded, secret: feed.secret };
  }
}

/** Reads a page. If the organization has no feed yet, creates it first. */
async function readFeed<Row>(db: Database, scope: Scope, hasCursor: boolean, read: () => Promise<Row[]>): Promise<Row[]> {
  const rows = await read();
  if (rows.length > 0) return rows;
  if (hasCursor) throw unusable();
  await db.run(scope, beginFeed(scope.organization));
  return read();
}

/** @throws ServiceError if the cursor belongs to another feed, or a deletion that the follower hasn't read was pruned */
function checkCursor(
  { position: { last, passStart }, secret: opened }: OpenedCursor,
  { secret, head, pruned }: { secret: Buffer; head: number; pruned: number },
): void {
  const known = Math.max(last, passStart);
  if (!secret.equals(opened) || known > head || known < pruned) throw unusable();
}

type Entry = (EntryRow | EntryWithDetailRow) & { callId: string; position: string; changedAt: Date; deleted: boolean };

function isEntry(row: EntryRow | EntryWithDetailRow): row is Entry {
  return row.callId !== null;
}

/** Returns the entries before the first one whose detail doesn't fit into the page and therefore wasn't read. */
function readEntries(rows: Entry[]): Entry[] {
  const end = rows.findIndex((row) => 'length' in row && row.length !== null && callOf(row) === undefined);
  return end === -1 ? rows : rows.slice(0, end);
}

function renderEntry(row: Entry, view: DetailView | undefined): Iterable<string> {
  const call = view && 'length' in row ? callOf(row) : undefined;
  return renderChange(row.callId, row.changedAt, row.deleted, view && call && renderDetail(call, view));
}
