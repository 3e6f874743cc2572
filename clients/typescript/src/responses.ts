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

const TYPES = ['call.changed', 'call.deleted', 'access.changed'];

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
