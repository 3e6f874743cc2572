import { ProtocolError } from './errors.ts';
import type { RawResponse } from './transport.ts';
import type { ChangesPage } from './types.ts';

/** @throws ProtocolError if the body isn't JSON */
export function readJson<T>({ status, headers, text }: RawResponse): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    const requestIds = [headers.get('X-Request-Id')].filter((id) => id !== null);
    throw new ProtocolError(`the response with status ${status} isn't JSON`, { status, requestIds, cause });
  }
}

const RECORDS = ['call', 'project', 'entity'];
const TYPES = ['access.changed', ...RECORDS.flatMap((record) => [`${record}.changed`, `${record}.deleted`])];

/**
 * Rejects a page that would cause an endless loop or corrupt a copy.
 * @param sent the cursor of the request @throws ProtocolError
 */
export function checkPage(page: ChangesPage, sent: string | null | undefined): ChangesPage {
  const unknown = page.data.find(({ type }) => !TYPES.includes(type));
  if (unknown) {
    throw new ProtocolError(`"${unknown.type}" is a type of change that this version doesn't know: install a newer version`);
  }
  if (typeof page.next_cursor !== 'string') throw new ProtocolError('the page of changes has no next_cursor');
  if (page.has_more && page.next_cursor === sent) {
    throw new ProtocolError('the page of changes says that there is more, but its cursor has not moved');
  }
  return page;
}

export interface ListPage<Item> {
  data: Item[];
  next_cursor: string | null;
}

/** Rejects a page that would cause an endless loop. @param sent the cursor of the request @throws ProtocolError */
export function checkListPage<Item>(page: ListPage<Item>, sent: string | undefined): ListPage<Item> {
  const { data, next_cursor: next } = page;
  if (!Array.isArray(data) || (typeof next !== 'string' && next !== null) || next === sent) {
    throw new ProtocolError('the page of the list has no data, or no next_cursor, or one that has not moved');
  }
  return page;
}
