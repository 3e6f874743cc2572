import { recordLister } from '@crs/records/feed/list-records';
import type { RecordContext } from '@crs/records/record-service';
import { rpc } from '@crs/kit/rpc/server';
import type { ListOrganizationEntitiesRequest, ListOrganizationEntitiesResponse } from '@crs/proto/crs/entities/v1/entities';
import { renderListItem } from './list-item.ts';
import { feed, listOrganizationEntities as list } from '../store/feed.ts';

export function listOrganizationEntities(context: RecordContext) {
  const read = recordLister(context, feed, list, renderListItem);
  return rpc(
    { organization: { rights: ['read'] } },
    async (request: ListOrganizationEntitiesRequest, call): Promise<ListOrganizationEntitiesResponse> => {
      const { json, nextCursor, count, firstId, lastId } = await read(request, call);
      return { entitiesJson: json, nextCursor, entityCount: count, firstEntityId: firstId, lastEntityId: lastId };
    },
  );
}
