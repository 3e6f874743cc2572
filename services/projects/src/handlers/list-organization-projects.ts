import { recordLister } from '@crs/records/feed/list-records';
import type { RecordContext } from '@crs/records/record-service';
import { rpc } from '@crs/kit/rpc/server';
import type { ListOrganizationProjectsRequest, ListOrganizationProjectsResponse } from '@crs/proto/crs/projects/v1/projects';
import { renderListItem } from './list-item.ts';
import { feed, listOrganizationProjects as list } from '../store/feed.ts';

export function listOrganizationProjects(context: RecordContext) {
  const read = recordLister(context, feed, list, renderListItem);
  return rpc(
    { organization: { rights: ['read'], writeSurface: true } },
    async (request: ListOrganizationProjectsRequest, call): Promise<ListOrganizationProjectsResponse> => {
      const { json, nextCursor, count, firstId, lastId } = await read(request, call);
      return { projectsJson: json, nextCursor, projectCount: count, firstProjectId: firstId, lastProjectId: lastId };
    },
  );
}
