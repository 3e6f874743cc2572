/** Reads a page of changes of several types. Each type has its own feed, in the service that stores its records. */
import type { CallOptions, ServiceClient } from '@crs/kit/rpc/client';
import { invalid, unavailable } from '@crs/kit/errors';
import type { FeedServiceService, ListChangesRequest, ListChangesResponse } from '@crs/proto/crs/feeds/v1/feeds';

/** In the order in which a page lists them: what others refer to comes first. */
export const TYPES = ['project', 'entity', 'call'] as const;

export type RecordType = (typeof TYPES)[number];

export type Feeds = Record<RecordType, Pick<ServiceClient<FeedServiceService>, 'listChanges'>>;

interface PageRequest extends Pick<
  ListChangesRequest,
  'limit' | 'withDetails' | 'withoutVerbatim' | 'withoutRedacted' | 'withoutClean'
> {
  types: readonly RecordType[];
  cursor: string | undefined;
}

export interface ChangesPage {
  /** JSON arrays of changes, one for each type. */
  arrays: Buffer[];
  accessChangedAt: Date | undefined;
  nextCursor: string;
  hasMore: boolean;
  changeCount: number;
  firstId: string | undefined;
  lastId: string | undefined;
}

const MAX_TRIES = 3;
const MAX_DETAIL_BYTES = 8 * 1024 * 1024;
/** Not in the alphabet of the feeds' cursors. */
const SEPARATOR = '.';

/**
 * The cursor has a part for each type, in the order of the types, and each feed refuses the cursors of other types. All parts are of the same settings.
 * @throws ServiceError unavailable if the settings keep changing
 */
export async function readPage(feeds: Feeds, request: PageRequest, call: CallOptions): Promise<ChangesPage> {
  let settings: string | undefined;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const parts = await readParts(feeds, request, settings, call);
    settings = parts.at(-1)!.settings;
    if (parts.every((part) => part.settings === settings)) return join(parts);
    // A service doesn't know the newest settings yet. It requests them when it gets others than it knows.
  }
  throw unavailable('The settings of the organization kept changing while the changes were read.');
}

async function readParts(
  feeds: Feeds,
  { types, cursor, limit, ...details }: PageRequest,
  settings: string | undefined,
  call: CallOptions,
): Promise<ListChangesResponse[]> {
  const cursors = cursorsOf(cursor, types.length);
  const parts: ListChangesResponse[] = [];
  for (const [i, type] of types.entries()) {
    const changes = parts.reduce((sum, { changeCount }) => sum + changeCount, 0);
    const bytes = parts.reduce((sum, { detailBytes }) => sum + detailBytes, 0);
    // Each feed counts the change of access, which the page has once.
    const request = {
      ...details,
      cursor: cursors[i],
      types: types.join(','),
      limit: limit - changes,
      settings: parts.at(-1)?.settings ?? settings,
      maxDetailBytes: bytes === 0 ? undefined : Math.max(0, MAX_DETAIL_BYTES - bytes),
      atEnd: false,
    };
    parts.push(await feeds[type].listChanges(request, call));
  }
  return parts;
}

/** Returns each feed's part of the cursor. A cursor of another number of types is passed on as it is, so that the feeds refuse it. */
function cursorsOf(cursor: string | undefined, count: number): (string | undefined)[] {
  const parts = cursor?.split(SEPARATOR) ?? [];
  return parts.length === count ? parts : Array.from({ length: count }, () => cursor);
}

function join(parts: ListChangesResponse[]): ChangesPage {
  const [first] = parts;
  const accessChangedAt = first!.accessChangedAt;
  if (parts.some((part) => (part.accessChangedAt === undefined) !== (accessChangedAt === undefined))) {
    throw invalid('cursor', "can't be used: its parts are of different pages. Begin again without it");
  }
  return {
    arrays: parts.map(({ changesJson }) => changesJson),
    accessChangedAt,
    nextCursor: parts.map(({ nextCursor }) => nextCursor).join(SEPARATOR),
    hasMore: parts.some(({ hasMore }) => hasMore),
    changeCount: parts.reduce((sum, { changeCount }) => sum + changeCount, accessChangedAt ? 1 : 0),
    firstId: parts.find(({ firstId }) => firstId !== undefined)?.firstId,
    lastId: parts.findLast(({ lastId }) => lastId !== undefined)?.lastId,
  };
}
