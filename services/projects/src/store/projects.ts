import type { Query, Statement } from '@crs/kit/data/database';

export interface ProjectRow {
  projectId: string;
  name: string | null;
  summary: string | null;
  status: string | null;
  isArchived: boolean;
  createdAt: Date;
  billingOfficeName: string | null;
}

export const PROJECT_COLUMNS = `project_id as "projectId", name, summary, status, is_archived as "isArchived", created_at as "createdAt",
  billing_office_name as "billingOfficeName"`;

export function getProject(organization: string, projectId: string): Statement {
  return {
    name: 'get_project',
    text: `select ${PROJECT_COLUMNS} from projects.projects where organization = $1 and project_id = $2`,
    values: [organization, projectId],
  };
}

/** Of these, the ones that are stored. */
export function findProjects(query: Query, organization: string, projectIds: string[]): Promise<ProjectRow[]> {
  return query<ProjectRow>({
    name: 'find_projects',
    text: `select ${PROJECT_COLUMNS} from projects.projects where organization = $1 and project_id = any($2::uuid[])`,
    values: [organization, projectIds],
  });
}

/** Writes whole projects, one row an id. */
export async function putProjects(query: Query, organization: string, projects: ProjectRow[]): Promise<void> {
  await query({
    name: 'put_projects',
    text: `insert into projects.projects (organization, project_id, name, summary, status, is_archived, created_at, billing_office_name)
      select $1, * from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::timestamptz[], $8::text[])
      on conflict (organization, project_id) do update set name = excluded.name, summary = excluded.summary, status = excluded.status,
        is_archived = excluded.is_archived, created_at = excluded.created_at, billing_office_name = excluded.billing_office_name`,
    values: [
      organization,
      projects.map((p) => p.projectId),
      projects.map((p) => p.name),
      projects.map((p) => p.summary),
      projects.map((p) => p.status),
      projects.map((p) => p.isArchived),
      projects.map((p) => p.createdAt.toISOString()),
      projects.map((p) => p.billingOfficeName),
    ],
  });
}

/** Erases a project, or everything of the organization. */
export async function eraseProjects(query: Query, organization: string, projectId: string | null): Promise<void> {
  await query({
    name: 'erase_creations',
    text: 'delete from projects.creations where organization = $1 and (project_id = $2 or $2::uuid is null)',
    values: [organization, projectId],
  });
  await query({
    name: 'erase_projects',
    text: 'delete from projects.projects where organization = $1 and (project_id = $2 or $2::uuid is null)',
    values: [organization, projectId],
  });
  if (projectId !== null) return;
  await query({
    name: 'erase_billing_offices',
    text: 'delete from projects.billing_offices where organization = $1',
    values: [organization],
  });
}
