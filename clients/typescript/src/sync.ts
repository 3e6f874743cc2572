import { checkPage, readJson } from './responses.ts';
import { BadRequestError, ProtocolError } from './errors.ts';
import { rawMembers } from './raw.ts';
import type { RawResponse, RequestOptions } from './transport.ts';
import type { ChangesPage, ChangesQuery } from './types.ts';

/** How far a copy is. Both fields are null before the first sync. */
export interface Position {
  /** The cursor of the next page; null for the first one. */
  cursor: string | null;
  /** The id of the full resync in progress, else null. */
  resync: string | null;
}

export type RecordType = 'call' | 'project' | 'entity';

/** A change to store. `document` is the JSON text of the record exactly as the service sent it; null: it was deleted. `changed_at` is RFC 3339. */
export interface StoredChange {
  type: RecordType;
  id: string;
  changed_at: string;
  document: string | null;
}

/**
 * A copy of the calls, and of the projects and entities if they are synced too. Each of `begin`, `apply` and `end` is one transaction. If the stored position
 * isn't `at`, another sync of the copy is running: then they change nothing and throw.
 */
export interface Store {
  load(): Promise<Position>;
  /** Starts a full resync: stores its id, and null as cursor. */
  begin(at: Position, resync: string): Promise<void>;
  /** Replaces changed documents and marks them with `at.resync`, deletes deleted records, and stores the cursor. `changes` has at most one change of a record. */
  apply(at: Position, changes: StoredChange[], cursor: string): Promise<void>;
  /** Ends the full resync: deletes each record of any type that isn't marked with `at.resync`, and stores null as `resync`. */
  end(at: Position): Promise<void>;
}

/** `types` are the types of records in the copy, by default calls alone. The first sync after a change of them is a full resync. */
export type SyncOptions = RequestOptions & Omit<ChangesQuery, 'cursor' | 'expand'>;

export interface SyncSummary {
  /** Stored documents of all types. */
  changed: number;
  /** Deleted records. */
  deleted: number;
  /** Full resyncs that were started: at the first sync, after a change of the organization's settings, and after the service has rejected the cursor. */
  fullResyncs: number;
}

type GetPage = (query: ChangesQuery, options: RequestOptions) => Promise<RawResponse>;

const LARGEST_PAGE = 50;
/** Per sync. More would never end. */
const MAX_FULL_RESYNCS = 10;

export async function sync(get: GetPage, store: Store, options: SyncOptions): Promise<SyncSummary> {
  const { timeout, maxRetries, budget, signal, ...query } = options;
  const load = async (cursor: string | null) => {
    const response = await get(
      { limit: LARGEST_PAGE, ...query, expand: 'detail', ...(cursor !== null && { cursor }) },
      { timeout, maxRetries, budget, signal },
    );
    return { response, page: checkPage(readJson<ChangesPage>(response), cursor) };
  };
  const summary: SyncSummary = { changed: 0, deleted: 0, fullResyncs: 0 };
  let at = await store.load();
  const begin = async () => {
    if (++summary.fullResyncs > MAX_FULL_RESYNCS) throw new ProtocolError('the service makes each full resync start again');
    const resync = crypto.randomUUID();
    await store.begin(at, resync);
    at = { cursor: null, resync };
  };
  if (at.cursor === null && at.resync === null) await begin();
  for (;;) {
    const { response, page } = await load(at.cursor).catch(async (error: unknown) => {
      if (at.cursor === null || !(error instanceof BadRequestError) || error.status !== 400) throw error;
      // The cursor may be too old. If the request is wrong in another way, a request without the cursor fails too, and the copy keeps its cursor.
      const first = await load(null);
      await begin();
      return first;
    });
    const access = page.data.map(({ type }) => type).lastIndexOf('access.changed');
    // All records follow again, so the changes before it in the page needn't be stored.
    if (access >= 0) await begin();
    const changes = toStore(page, response.text, access + 1);
    await store.apply(at, changes, page.next_cursor);
    at = { ...at, cursor: page.next_cursor };
    for (const { document } of changes) summary[document === null ? 'deleted' : 'changed']++;
    if (page.has_more) continue;
    if (at.resync !== null) await store.end(at);
    return summary;
  }
}

/** Returns the page's changes from an index on, with the JSON texts of their records: the last change of each record. */
function toStore({ data }: ChangesPage, text: string, from: number): StoredChange[] {
  const kinds = data.map(({ type }) => type.split('.') as [RecordType | 'access', string]);
  const documents = rawMembers(text, (index) => kinds[index]![0]);
  const changes = data.slice(from).map((change, i): StoredChange => {
    const [type, kind] = kinds[from + i]!;
    const document = kind === 'deleted' ? null : documents[from + i];
    const id = (change as unknown as Record<string, unknown>)[`${type}_id`];
    if (type === 'access' || typeof id !== 'string' || document === undefined) {
      throw new ProtocolError(`a change of type ${change.type} lacks its id or its record`);
    }
    return { type, id, changed_at: change.changed_at, document };
  });
  return [...new Map(changes.map((change) => [`${change.type} ${change.id}`, change])).values()];
}
