import { withoutNulls } from '@crs/records/export';
import type { ProjectGrant } from '@crs/proto/crs/auth/v1/auth';
import type { ProjectRow } from '../store/projects.ts';

/** Returns the line that an import turns back into this project. @param grant its people, whom auth stores */
export function exportLine(
  organization: string,
  row: ProjectRow,
  { createdBy, members }: Pick<ProjectGrant, 'createdBy' | 'members'>,
): object {
  return withoutNulls({
    type: 'project',
    organization,
    id: row.projectId,
    name: row.name,
    summary: row.summary,
    status: row.status,
    is_archived: row.isArchived,
    created_at: row.createdAt,
    created_by: createdBy ?? null,
    billing_office_name: row.billingOfficeName,
    members: members.map(({ email, lead }) => ({ email, role: lead ? 'lead' : 'member' })),
  });
}
