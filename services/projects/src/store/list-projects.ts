import type { Statement } from '@crs/kit/data/database';
import { PROJECT, SELECT_PROJECTS, type ProjectRow } from './projects.ts';

interface ProjectQuery {
  /** The projects that the user may see. */
  projectIds: string[];
  includeArchived: boolean;
  after: { createdAt: Date; projectId: string } | null;
  limit: number;
}

export function listProjects(
  organization: string,
  { projectIds, includeArchived, after, limit }: ProjectQuery,
): Statement<ProjectRow> {
  const values = [organization, projectIds, includeArchived, limit];
  const beyond = after ? 'and (created_at, project_id) < ($5, $6)' : '';
  return {
    name: after ? 'list_projects_after' : 'list_projects',
    row: PROJECT,
    text: `${SELECT_PROJECTS}
      where organization = $1 and project_id = any($2::uuid[]) and ($3 or not is_archived) ${beyond}
      order by created_at desc, project_id desc limit $4`,
    values: after ? [...values, after.createdAt, after.projectId] : values,
  };
}

export function listAllProjects(organization: string, after: ProjectQuery['after'], limit: number): Statement<ProjectRow> {
  const beyond = after ? 'and (created_at, project_id) < ($3, $4)' : '';
  return {
    name: after ? 'list_all_projects_after' : 'list_all_projects',
    row: PROJECT,
    text: `${SELECT_PROJECTS} where organization = $1 ${beyond} order by created_at desc, project_id desc limit $2`,
    values: after ? [organization, limit, after.createdAt, after.projectId] : [organization, limit],
  };
}
