import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const ROW = { projectId: column.uuid, segments: column.textArray };

/** The distinct segment labels of each project, by code point. */
export function projectSegments(organization: string, projectIds: string[]): Statement<column.RowOf<typeof ROW>> {
  return {
    name: 'project_segments',
    row: ROW,
    text: `select project_id as "projectId", array_agg(segment order by segment collate "C") as segments
      from (select distinct project_id, segment from calls.calls
        where organization = $1 and project_id = any($2::uuid[]) and segment is not null) labels
      group by project_id`,
    values: [organization, projectIds],
  };
}
