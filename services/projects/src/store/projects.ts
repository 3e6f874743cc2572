import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { deleteNext } from '@crs/kit/data/delete-next';
import { upsert } from '@crs/kit/data/upsert';

export const PROJECT = {
  projectId: column.uuid,
  name: column.text.orNull,
  summary: column.text.orNull,
  status: column.text.orNull,
  isArchived: column.boolean,
  createdAt: column.timestamp,
  billingOfficeName: column.text.orNull,
};

export type ProjectRow = column.RowOf<typeof PROJECT>;

export const SELECT_PROJECTS = `select ${column.selectList(PROJECT)} from projects.projects`;

export function getProject(organization: string, projectId: string): Statement<ProjectRow> {
  return {
    name: 'get_project',
    row: PROJECT,
    text: `${SELECT_PROJECTS} where organization = $1 and project_id = $2`,
    values: [organization, projectId],
  };
}

export function findProjects(organization: string, projectIds: string[]): Statement<ProjectRow> {
  return {
    name: 'find_projects',
    row: PROJECT,
    text: `${SELECT_PROJECTS} where organization = $1 and project_id = any($2::uuid[])`,
    values: [organization, projectIds],
  };
}

const LENGTH = { id: column.uuid, length: column.integer };

/** The lengths of the texts of stored projects, in bytes. */
export function findLengths(organization: string, projectIds: string[]): Statement<column.RowOf<typeof LENGTH>> {
  return {
    name: 'find_project_lengths',
    row: LENGTH,
    text: `select project_id as id,
        coalesce(octet_length(name), 0) + coalesce(octet_length(summary), 0) + coalesce(octet_length(status), 0) as length
      from projects.projects where organization = $1 and project_id = any($2::uuid[])`,
    values: [organization, projectIds],
  };
}

export const putProjects = upsert({ name: 'put_projects', table: 'projects.projects', key: 'projectId', columns: PROJECT });

export const eraseProjects = deleteNext({ name: 'erase_projects', table: 'projects.projects', key: 'project_id' });

const ERASED = { projectId: column.uuid };

/** Erases a project and its creation. Returns the project's id, or no row if it isn't stored. */
export async function eraseProject(
  query: Query,
  organization: string,
  projectId: string,
): Promise<column.RowOf<typeof ERASED>[]> {
  const values = [organization, projectId];
  await query({
    name: 'erase_project_creations',
    text: 'delete from projects.creations where organization = $1 and project_id = $2',
    values,
  });
  return query({
    name: 'erase_project',
    row: ERASED,
    text: `delete from projects.projects where organization = $1 and project_id = $2 returning ${column.selectList(ERASED)}`,
    values,
  });
}

/** The projects after an id, in order of id, without a limit. */
export function exportProjects(organization: string, after: string | null): Statement<ProjectRow> {
  return {
    name: 'export_projects',
    row: PROJECT,
    text: `${SELECT_PROJECTS} where organization = $1 and ($2::uuid is null or project_id > $2) order by project_id`,
    values: [organization, after],
  };
}
