import { FeedServiceService, type ListChangesRequest, type ListChangesResponse } from '@crs/proto/crs/feeds/v1/feeds';
import type { Statement } from '@crs/kit/data/database';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { invalid, ServiceError } from '@crs/kit/errors';
import type { KeyAccess, ProgramAccess } from '@crs/kit/rpc/admitted-callers';
import { bind, rpc, type BoundService } from '@crs/kit/rpc/server';
import type { RecordContext } from '../record-service.ts';
import { renderList, toBytes } from '../response-json.ts';
import { retention } from '../retention.ts';
import { CursorCache, unusableChangeCursor, type ChangePosition, type Cursors, type OpenedCursor } from './cursors.ts';
import { fitting, MAX_PAGE_BYTES } from './details.ts';
import type { EntryRow, Feed, FeedPage } from './feed.ts';
import { CurrentSettings, type ViewSettings } from './view-settings.ts';

const MAX_LIMIT = 1_000;
const MAX_LIMIT_WITH_DETAILS = 50;

/** As `deletedAfter`, excludes every deletion. */
const NO_DELETIONS = Number.MAX_SAFE_INTEGER;

type DetailedRow = EntryRow & { length: string | null; fits: boolean | null };

/** What a page shows of records in full. */
interface DetailedView {
  request: ListChangesRequest;
  settings: ViewSettings;
}

/** How a service shows its records in full. */
interface ChangeDetails<Row extends DetailedRow> {
  list(organization: string, page: FeedPage & { maxBytes: number }, view: DetailedView): Statement<Row>;
  /** Returns a function that renders the record of a row as JSON, in pieces; undefined: the row has none. */
  renderer(rows: readonly Row[], view: DetailedView, scope: Scope): Promise<(row: Row) => Iterable<string> | undefined>;
}

/**
 * Binds a service's feed of changes.
 * @param access what a key needs to read it
 * @param program may read it without details
 */
export function bindFeed<Row extends DetailedRow>(
  { db, auth, log }: RecordContext,
  feed: Feed,
  access: KeyAccess,
  details: ChangeDetails<Row>,
  program?: ProgramAccess,
): BoundService {
  const viewSettings = new CurrentSettings(auth);
  const cursors = new CursorCache(db, feed);
  const pruneOnRead = retention('deletions', db, log, feed.pruneDeletions);
  const callers = { organization: access, ...(program && { program }) };
  const listChanges = rpc(callers, async (request: ListChangesRequest, call): Promise<ListChangesResponse> => {
    const { limit, withDetails, types } = request;
    if (withDetails && call.identity.kind === 'program')
      throw new ServiceError('permission_denied', 'A program may not read details.');
    const max = withDetails ? MAX_LIMIT_WITH_DETAILS : MAX_LIMIT;
    if (limit > max) throw invalid('limit', `must be at most ${max}`);
    const scope = callerScope(call);
    const cursor =
      request.cursor === undefined ? undefined : await cursors.open(scope, (each) => each.decodeChange(request.cursor!, types));
    if (request.cursor !== undefined && !cursor) throw unusableChangeCursor();
    const position = cursor?.position;
    // A program that follows may call because the settings changed, before the cache ends, and doesn't call again.
    const mustBeNewest = position !== undefined && call.identity.kind === 'program';
    let settings = await viewSettings.of(scope, call, mustBeNewest ? 0 : undefined);
    // The cursor may come from a replica that knows newer settings, and so may the other part of the page.
    const knownElsewhere = [position?.settings, request.settings].filter((id) => id !== undefined);
    if (knownElsewhere.some((id) => id !== settings.id)) settings = await viewSettings.newest(scope, call);
    // Changed settings begin a new full pass, but the follower must still hear of the deletions after its position.
    const isChanged = position !== undefined && position.settings !== settings.id;
    const passStart = position && (isChanged ? Math.max(position.last, position.passStart) : position.passStart);
    const after = position === undefined || isChanged ? 0 : position.last;
    const maxEntries = Math.max(0, isChanged ? limit - 1 : limit);
    // The extra entry tells whether more follow.
    const page = { after, deletedAfter: Math.max(after, passStart ?? NO_DELETIONS), limit: maxEntries + 1 };
    const { organization } = scope;
    const view = { request, settings };
    const read = (): Promise<(EntryRow | Row)[]> => {
      if (!withDetails) return db.read(scope, feed.list(organization, page));
      return db.read(scope, details.list(organization, { ...page, maxBytes: request.maxDetailBytes ?? MAX_PAGE_BYTES }, view));
    };
    const rows = cursor ? await read() : await cursors.readPage(scope, read);
    if (cursor) checkCursor(cursor, rows[0]);
    const { secret, head } = rows[0]!;
    if (request.atEnd && !position) return emptyPageAtEnd(Number(head), settings.id, cursors.of(organization, secret), types);

    const found = rows.filter(isEntry);
    const listed = found.slice(0, maxEntries);
    const entries = withDetails ? fitting(listed as (Entry & Row)[]) : listed;
    const hasMore = entries.length < found.length;
    // A follower that has read everything misses no deletion that is pruned.
    if (!hasMore) await pruneOnRead(scope);
    const last = hasMore ? Number(entries.at(-1)?.position ?? after) : Number(head);
    const next: ChangePosition = { last, passStart: passStart ?? Number(head), settings: settings.id };
    const render = withDetails ? await details.renderer(rows as Row[], view, scope) : undefined;
    const changes = entries.map((entry) => renderChange(feed.type, entry, render && render(entry as Entry & Row)));
    return {
      changesJson: await toBytes(renderList(changes)),
      nextCursor: cursors.of(organization, secret).encodeChange(next, types),
      hasMore,
      settings: settings.id,
      accessChangedAt: isChanged ? settings.changedAt : undefined,
      changeCount: changes.length,
      firstId: entries[0]?.recordId,
      lastId: entries.at(-1)?.recordId,
      detailBytes: withDetails ? (entries as (Entry & Row)[]).reduce((sum, { length }) => sum + Number(length), 0) : 0,
    };
  });
  return bind(FeedServiceService, program ? ['api-gateway', program.name] : ['api-gateway'], { listChanges });
}

/** @param settings the id of the settings that later pages must be rendered with */
function emptyPageAtEnd(head: number, settings: string, cursors: Cursors, types: string): ListChangesResponse {
  const nextCursor = cursors.encodeChange({ last: head, passStart: head, settings }, types);
  return {
    changesJson: Buffer.from('[]'),
    nextCursor,
    hasMore: false,
    settings,
    changeCount: 0,
    detailBytes: 0,
  } as ListChangesResponse;
}

/** @throws ServiceError if the cursor belongs to another feed, or a deletion that the follower hasn't read was pruned */
function checkCursor({ position: { last, passStart }, secret }: OpenedCursor<ChangePosition>, feed: EntryRow | undefined): void {
  const known = Math.max(last, passStart);
  if (!feed || !feed.secret.equals(secret) || known > Number(feed.head) || known < Number(feed.pruned)) {
    throw unusableChangeCursor();
  }
}

type Entry = EntryRow & { recordId: string; position: string; changedAt: Date; deleted: boolean };

function isEntry<Row extends EntryRow>(row: Row): row is Row & Entry {
  return row.recordId !== null;
}

/** @param detail the record as JSON, in pieces; undefined: without it */
function* renderChange(
  type: Feed['type'],
  { recordId, changedAt, deleted }: Entry,
  detail: Iterable<string> | undefined,
): Generator<string> {
  const kind = deleted ? 'deleted' : 'changed';
  yield `{"type":"${type}.${kind}","${type}_id":${JSON.stringify(recordId)},"changed_at":"${changedAt.toISOString()}"`;
  if (detail) {
    yield `,"${type}":`;
    yield* detail;
  }
  yield '}';
}
