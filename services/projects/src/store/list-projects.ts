import type { Statement } from '@crs/kit/data/database';
import { PROJECT_COLUMNS } from './projects.ts';

export interface ProjectQuery {
  /** Those that may be listed. */
  projectIds: string[];
  includeArchived: boolean;
  after: { createdAt: Date; projectId: string } | null;
  limit: number;
}

/** Most recently created first, then by descending id. */
export function listProjects(organization: string, { projectIds, includeArchived, after, limit }: ProjectQuery): Statement {
  const values = [organization, projectIds, includeArchived, limit];
  const beyond = after ? 'and (created_at, project_id) < ($5, $6)' : '';
  return {
    name: after ? 'list_projects_after' : 'list_projects',
    text: `select ${PROJECT_COLUMNS} from projects.projects
      where organization = $1 and project_id = any($2::uuid[]) and ($3 or not is_archived) ${beyond}
      order by created_at desc, project_id desc limit $4`,
    values: after ? [...values, after.createdAt, after.projectId] : values,
  };
}
