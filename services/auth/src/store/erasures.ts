import type { Query } from '@crs/kit/data/database';
import { fold } from '@crs/kit/text';
import { moveVersions } from './projects.ts';

/** First and last step of deletions that span services. Each finds its target whether or not the first step ran before. */

/** @returns whether it exists */
export async function markOrganization(query: Query, organization: string): Promise<boolean> {
  const rows = await query({
    name: 'mark_organization',
    text: 'update auth.organizations set erasing_at = coalesce(erasing_at, now()) where organization = $1 returning 1',
    values: [organization],
  });
  return rows.length > 0;
}

/** @returns whether it exists */
export async function markProject(query: Query, organization: string, projectId: string): Promise<boolean> {
  const [row] = await query<{ userIds: string[] }>({
    name: 'mark_project',
    text: `update auth.projects p set erasing_at = coalesce(erasing_at, now()) where organization = $1 and project_id = $2
      returning array_remove(array(
        select r.user_id from auth.project_roles r where r.organization = $1 and r.project_id = $2) || p.created_by, null) as "userIds"`,
    values: [organization, projectId],
  });
  if (!row) return false;
  await moveVersions(query, organization, [...new Set(row.userIds)]);
  return true;
}

/** @returns their id, or undefined where nobody has that e-mail */
export async function markUser(query: Query, organization: string, email: string): Promise<string | undefined> {
  const [row] = await query<{ userId: string }>({
    name: 'mark_user',
    text: `update auth.users set erasing_at = coalesce(erasing_at, now()), disabled_at = coalesce(disabled_at, now())
      where organization = $1 and email_folded = $2 returning user_id as "userId"`,
    values: [organization, fold(email)],
  });
  return row?.userId;
}

/** With all that hangs on it; the audit trail stays. */
export async function removeOrganization(query: Query, organization: string): Promise<void> {
  const removed = await query({
    name: 'remove_organization',
    text: 'delete from auth.organizations where organization = $1 and erasing_at is not null returning 1',
    values: [organization],
  });
  if (removed.length === 0) return;
  await query({ name: 'remove_keys', text: 'delete from auth.key_directory where organization = $1', values: [organization] });
}

export async function removeProject(query: Query, organization: string, projectId: string): Promise<void> {
  await query({
    name: 'remove_project',
    text: 'delete from auth.projects where organization = $1 and project_id = $2 and erasing_at is not null',
    values: [organization, projectId],
  });
}

/** Projects that they created stay, without a creator. */
export async function removeUser(query: Query, organization: string, email: string): Promise<void> {
  await query({
    name: 'remove_user',
    text: 'delete from auth.users where organization = $1 and email_folded = $2 and erasing_at is not null',
    values: [organization, fold(email)],
  });
}
