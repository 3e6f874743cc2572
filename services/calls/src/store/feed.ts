import * as column from '@crs/kit/data/column';
import { feedOf, type FeedPage } from '@crs/records/feed/feed';
import { feedHeadsOf } from '@crs/records/feed/heads';
import { callParameters, CALLS, type Seen } from './details.ts';

export const feedHeads = feedHeadsOf('calls');

/** The changes of calls. */
export const feed = feedOf('calls', 'call', column.text, feedHeads);

const listWithDetails = feed.withDetails(CALLS, {
  columns: { nameSecret: column.bytes.orNull },
  sql: ', (select secret from calls.name_secrets where organization = $1) as "nameSecret"',
});

/** Lists a page of changes with the calls in full. */
export function listChangesWithDetails(organization: string, page: FeedPage & { maxBytes: number }, seen: Seen) {
  return listWithDetails(organization, page, callParameters(seen));
}
