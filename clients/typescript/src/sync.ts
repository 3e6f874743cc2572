import { checkPage, readJson } from './answers.ts';
import { BadRequestError, ProtocolError } from './errors.ts';
import { rawCalls } from './raw.ts';
import type { Answer, RequestOptions } from './transport.ts';
import type { ChangesPage, ChangesQuery } from './types.ts';

/** How far a copy is. Both are null before the first sync. */
export interface Position {
  /** Where the next page begins; null at the beginning. */
  cursor: string | null;
  /** Names the walk over all calls that is under way, if any. */
  walk: string | null;
}

/** A change to store. `document` is the JSON text of the call exactly as the service sent it. Times are RFC 3339. */
export type StoredChange =
  | { type: 'call.changed'; call_id: string; changed_at: string; document: string }
  | { type: 'call.deleted'; call_id: string; changed_at: string };

/**
 * A copy of the calls. Each of `begin`, `apply` and `end` is one transaction, and changes nothing and throws where the stored position isn't `at`:
 * another sync of the same copy is at work.
 */
export interface Store {
  load(): Promise<Position>;
  /** Stores the walk, and forgets the cursor. */
  begin(at: Position, walk: string): Promise<void>;
  /** Replaces the documents that changed and marks them with `at.walk`, removes those that were deleted, and stores the cursor. A call stands in `changes` at most once. */
  apply(at: Position, changes: StoredChange[], cursor: string): Promise<void>;
  /** Removes each call that isn't marked with `at.walk`, and forgets the walk. */
  end(at: Position): Promise<void>;
}

export type SyncOptions = RequestOptions & Omit<ChangesQuery, 'cursor' | 'expand'>;

export interface SyncSummary {
  /** Documents that were stored, and calls that were removed because they are deleted. */
  changed: number;
  deleted: number;
  /** Passes over all calls that were begun: at the first sync, after a change of the organization's settings, after a cursor that the service no longer takes. */
  walks: number;
}

type GetPage = (query: ChangesQuery, options: RequestOptions) => Promise<Answer>;

/** With it, 30,000 calls take 600 requests. */
const LARGEST_PAGE = 50;
/** More passes than this in one sync mean that something starts them without end. */
const MOST_WALKS = 10;

export async function sync(get: GetPage, store: Store, options: SyncOptions): Promise<SyncSummary> {
  const { timeout, maxRetries, budget, signal, ...query } = options;
  const ask = async (cursor: string | null) => {
    const answer = await get(
      { limit: LARGEST_PAGE, ...query, expand: 'detail', ...(cursor !== null && { cursor }) },
      { timeout, maxRetries, budget, signal },
    );
    return { answer, page: checkPage(readJson<ChangesPage>(answer), cursor) };
  };
  const summary: SyncSummary = { changed: 0, deleted: 0, walks: 0 };
  let at = await store.load();
  const begin = async () => {
    if (++summary.walks > MOST_WALKS) throw new ProtocolError('the service starts a new walk over all calls again and again');
    const walk = crypto.randomUUID();
    await store.begin(at, walk);
    at = { cursor: null, walk };
  };
  if (at.cursor === null && at.walk === null) await begin();
  for (;;) {
    const { answer, page } = await ask(at.cursor).catch(async (error: unknown) => {
      if (at.cursor === null || !(error instanceof BadRequestError) || error.status !== 400) throw error;
      // The cursor may be too old. Where the request is wrong in another way, this one fails, too, and the copy keeps its cursor.
      const first = await ask(null);
      await begin();
      return first;
    });
    const access = page.data.map(({ type }) => type).lastIndexOf('access.changed');
    // All calls follow again, so that what stands before it in the page needn't be stored.
    if (access >= 0) await begin();
    const changes = toStore(page, rawCalls(answer.text), access + 1);
    await store.apply(at, changes, page.next_cursor);
    at = { ...at, cursor: page.next_cursor };
    for (const { type } of changes) summary[type === 'call.changed' ? 'changed' : 'deleted']++;
    if (page.has_more) continue;
    if (at.walk !== null) await store.end(at);
    return summary;
  }
}

/** The page's changes from an index on, with the texts of their calls. Each call stands once, at its last change. */
function toStore({ data }: ChangesPage, documents: (string | undefined)[], from: number): StoredChange[] {
  const changes = data.slice(from).map((change, index): StoredChange => {
    const { type, call_id, changed_at } = change;
    const document = documents[from + index];
    if (type === 'call.deleted') return { type, call_id, changed_at };
    if (type === 'call.changed' && document !== undefined) return { type, call_id, changed_at, document };
    throw new ProtocolError(`a change of type ${type} lacks its call`);
  });
  return [...new Map(changes.map((change) => [change.call_id, change])).values()];
}
