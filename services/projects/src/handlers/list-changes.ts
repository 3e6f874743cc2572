import { isRead } from '@crs/records/feed/details';
import { bindFeed } from '@crs/records/feed/list-changes';
import type { RecordContext } from '@crs/records/record-service';
import { renderListItem } from './list-item.ts';
import { feed, listChangesWithDetails } from '../store/feed.ts';

export function listChanges(context: RecordContext) {
  return bindFeed(
    context,
    feed,
    { rights: ['read'], writeSurface: true },
    {
      list: (organization, page) => listChangesWithDetails(organization, page),
      renderer: (_rows) => Promise.resolve((row) => (isRead(row) ? [renderListItem(row)] : undefined)),
    },
  );
}
