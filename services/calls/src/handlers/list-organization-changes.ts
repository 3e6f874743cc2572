import type { Database } from '@crs/kit/data/database';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { retention } from '@crs/records/retention';
import { rpc } from '@crs/kit/rpc/server';
import type { ListOrganizationChangesRequest, ListOrganizationChangesResponse } from '@crs/proto/crs/calls/v1/calls';
import { LRUCache } from 'lru-cache';
import { ChangeCursors, unusable, type ChangePosition } from '../domain/change-cursor.ts';
import { renderAccessChanged, renderChange, renderList } from '../domain/render-lists.ts';
import { render, type DetailView } from '../domain/stored-json/index.ts';
import { toBytes } from '../domain/to-bytes.ts';
import { gateOf, includeOf } from '../domain/view.ts';
import { callOf } from '../store/details.ts';
import { beginFeed, findFeedSecret, forgetDeletions } from '../store/feed.ts';
import { listChanges, listChangesWithDetails, type EntryRow, type EntryWithDetailRow } from '../store/list-changes.ts';
import { nameSecretOf } from '../store/name-secrets.ts';
import { CurrentSettings } from './view-settings.ts';

const MAX_LIMIT = 1_000;
const MAX_LIMIT_WITH_DETAILS = 50;

/** The place after which a walk that begins now has no deletions to follow. */
const NO_DELETIONS = Number.MAX_SAFE_INTEGER;

export function listOrganizationChanges({ db, auth, log }: RecordContext) {
  const settingsNow = new CurrentSettings(auth);
  const feeds = new Feeds(db);
  const forgetOld = retention('deletions', db, log, forgetDeletions);
  return rpc(
    { organization: 'read' },
    async (request: ListOrganizationChangesRequest, call): Promise<ListOrganizationChangesResponse> => {
      const { limit, withDetails } = request;
      const max = withDetails ? MAX_LIMIT_WITH_DETAILS : MAX_LIMIT;
      if (limit < 1 || limit > max) throw invalid('limit', `must be 1 to ${max}`);
      const scope = callerScope(call);
      const cursor = request.cursor === undefined ? undefined : await feeds.open(scope, request.cursor);
      const at = cursor?.position;
      let now = await settingsNow.of(call.identity, call);
      // The page before may come from a replica that knows newer ones.
      if (at && at.settings !== now.id) now = await settingsNow.newest(call.identity, call);
      // Under other settings the walk begins again. Deletions that its follower has not been told of still follow.
      const isChanged = at !== undefined && at.settings !== now.id;
      const began = at && (isChanged ? Math.max(at.place, at.began) : at.began);
      const after = at === undefined || isChanged ? 0 : at.place;
      const room = isChanged ? limit - 1 : limit;
      // One entry more than the page tells whether more follow.
      const asked = { after, deletedAfter: Math.max(after, began ?? NO_DELETIONS), limit: room + 1 };
      const gate = gateOf(now.allowedFields);
      const include = includeOf(request);

      const seen = { gate, include, anonymize: now.anonymize };
      const read = (): Promise<(EntryRow | EntryWithDetailRow)[]> =>
        withDetails
          ? db.read(scope, listChangesWithDetails(scope.organization, asked, seen))
          : db.read(scope, listChanges(scope.organization, asked));
      const rows = await inFeed(db, scope, cursor !== undefined, read);
      const { secret, head, forgotten } = rows[0]!;
      if (cursor) check(cursor, { secret, head: Number(head), forgotten: Number(forgotten) });

      const anonymizeWith =
        withDetails && now.anonymize ? await nameSecretOf(db, scope, (rows[0] as EntryWithDetailRow).nameSecret) : undefined;
      const view = withDetails ? { as: 'detail' as const, gate, include, anonymizeWith } : undefined;
      const found = rows.filter(isEntry);
      const entries = fittingOf(found.slice(0, room));
      const hasMore = entries.length < found.length;
      // A follower who has read everything loses nothing by it.
      if (!hasMore) await forgetOld(scope);
      const place = hasMore ? Number(entries.at(-1)?.place ?? after) : Number(head);
      const next: ChangePosition = { place, began: began ?? Number(head), settings: now.id };
      const changes = [
        ...(isChanged ? [[renderAccessChanged(now.changedAt)]] : []),
        ...entries.map((each) => renderEntry(each, view)),
      ];
      return {
        changesJson: await toBytes(renderList(changes)),
        nextCursor: feeds.cursorsOf(scope.organization, secret).seal(next),
        hasMore,
        changeCount: changes.length,
        firstCallId: entries[0]?.changed,
        lastCallId: entries.at(-1)?.changed,
      };
    },
  );
}

interface OpenedCursor {
  position: ChangePosition;
  secret: Buffer;
}

/** The feeds whose cursors were used lately: deriving keys from a secret takes longer than sealing a cursor, and reading it takes a query. */
class Feeds {
  readonly #db: Database;
  readonly #known = new LRUCache<string, ChangeCursors>({ max: 10_000 });

  constructor(db: Database) {
    this.#db = db;
  }

  cursorsOf(organization: string, secret: Buffer): ChangeCursors {
    const known = this.#known.get(organization);
    if (known?.secret.equals(secret)) return known;
    const cursors = new ChangeCursors(secret, organization);
    this.#known.set(organization, cursors);
    return cursors;
  }

  /** @throws ServiceError if the cursor is another feed's, or was changed */
  async open(scope: Scope, cursor: string): Promise<OpenedCursor> {
    const { organization } = scope;
    const known = this.#known.get(organization);
    const position = known?.open(cursor);
    if (known && position) return { position, secret: known.secret };
    const [feed] = await this.#db.read(scope, findFeedSecret(organization));
    const found = feed && this.cursorsOf(organization, feed.secret).open(cursor);
    if (!found) throw unusable();
    return { position: found, secret: feed.secret };
  }
}

/** Reads a page, and begins the feed first where there is none. */
async function inFeed<Row>(db: Database, scope: Scope, hasCursor: boolean, read: () => Promise<Row[]>): Promise<Row[]> {
  const rows = await read();
  if (rows.length > 0) return rows;
  if (hasCursor) throw unusable();
  await db.run(scope, beginFeed(scope.organization));
  return read();
}

/** @throws ServiceError where the feed is another one, or a deletion that the follower was not told of is forgotten */
function check(
  { position: { place, began }, secret: opened }: OpenedCursor,
  { secret, head, forgotten }: { secret: Buffer; head: number; forgotten: number },
): void {
  const known = Math.max(place, began);
  if (!secret.equals(opened) || known > head || known < forgotten) throw unusable();
}

type Found = (EntryRow | EntryWithDetailRow) & { changed: string; place: string; changedAt: Date; deleted: boolean };

function isEntry(row: EntryRow | EntryWithDetailRow): row is Found {
  return row.changed !== null;
}

/** The entries before the first one whose call was not read, because it doesn't fit into the page. */
function fittingOf(rows: Found[]): Found[] {
  const end = rows.findIndex((row) => 'length' in row && row.length !== null && callOf(row) === undefined);
  return end === -1 ? rows : rows.slice(0, end);
}

function renderEntry(row: Found, view: DetailView | undefined): Iterable<string> {
  const call = view && 'length' in row ? callOf(row) : undefined;
  return renderChange(row.changed, row.changedAt, row.deleted, view && call && render(call, view));
}
