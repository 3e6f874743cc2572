import { bindFeed } from '@crs/records/feed/list-changes';
import type { ViewSettings } from '@crs/records/feed/view-settings';
import type { RecordContext } from '@crs/records/record-service';
import type { ListChangesRequest } from '@crs/proto/crs/feeds/v1/feeds';
import { renderDetail } from '../domain/stored-json/index.ts';
import { fieldMaskOf, includeOf } from '../domain/view.ts';
import { callOf } from '../store/details.ts';
import { feed, listChangesWithDetails } from '../store/feed.ts';
import { nameSecretOf } from '../store/name-secrets.ts';

export function listChanges(context: RecordContext) {
  return bindFeed(
    context,
    feed,
    { rights: ['read'] },
    {
      list: (organization, page, { request, settings }) =>
        listChangesWithDetails(organization, page, { ...viewOf(request, settings), anonymize: settings.anonymize }),
      renderer: async ([first], { request, settings }, scope) => {
        const anonymizeWith = settings.anonymize ? await nameSecretOf(context.db, scope, first!.nameSecret) : undefined;
        const view = { ...viewOf(request, settings), anonymizeWith };
        return (row) => {
          const call = callOf(row);
          return call && renderDetail(call, view);
        };
      },
    },
    { name: 'webhooks', token: 'one' },
  );
}

function viewOf(request: ListChangesRequest, { allowedFields }: ViewSettings) {
  return { mask: fieldMaskOf(allowedFields), include: includeOf(request) };
}
