import type { ProjectRow } from '../store/projects.ts';

/** Renders a project as REST lists it: without its people, whom auth stores. */
export function renderListItem(row: ProjectRow): string {
  return JSON.stringify({
    project_id: row.projectId,
    name: row.name,
    summary: row.summary,
    status: row.status,
    is_archived: row.isArchived,
    created_at: row.createdAt,
    billing_office_name: row.billingOfficeName,
  });
}
