import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const USER = { email: column.text, emailFolded: column.text, name: column.text.orNull, disabledAt: column.instant.orNull };

/** Users after a folded e-mail, in that order. Users whose deletion has begun are left out. */
export function exportUsers(organization: string, after: string): Statement<column.RowOf<typeof USER>> {
  return {
    name: 'export_users',
    row: USER,
    text: `select ${column.selectList(USER)} from auth.users
      where organization = $1 and email_folded > $2 and erasing_at is null order by email_folded`,
    values: [organization, after],
  };
}

const EMAIL = { userId: column.uuid, email: column.text };

/** The e-mails of those of the users who exist and aren't being deleted. */
export function findEmails(organization: string, userIds: string[]): Statement<column.RowOf<typeof EMAIL>> {
  return {
    name: 'find_emails',
    row: EMAIL,
    text: `select ${column.selectList(EMAIL)} from auth.users
      where organization = $1 and user_id = any($2::uuid[]) and erasing_at is null`,
    values: [organization, userIds],
  };
}

const PROJECT = {
  projectId: column.uuid,
  createdBy: column.text.orNull,
  members: column.json<{ email: string; lead: boolean }[]>(),
};

/** Those of the projects that exist and aren't being deleted, with the e-mails of their people. */
export function describeProjects(organization: string, projectIds: string[]): Statement<column.RowOf<typeof PROJECT>> {
  return {
    name: 'describe_projects',
    row: PROJECT,
    text: `select p.project_id as "projectId", (
        select u.email from auth.users u where u.organization = $1 and u.user_id = p.created_by and u.erasing_at is null
      ) as "createdBy", coalesce((
        select json_agg(json_build_object('email', u.email, 'lead', r.role = 'lead') order by u.email_folded, r.role)
        from auth.project_roles r join auth.users u on u.organization = $1 and u.user_id = r.user_id
        where r.organization = $1 and r.project_id = p.project_id and u.erasing_at is null), '[]') as members
      from auth.projects p where p.organization = $1 and p.project_id = any($2::uuid[]) and p.erasing_at is null`,
    values: [organization, projectIds],
  };
}
