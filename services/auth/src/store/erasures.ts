import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { deleteNext } from '@crs/kit/data/delete-next';
import { fold } from '@crs/kit/text';
import { releaseIssuers } from './assertion-issuers.ts';
import { releaseDomains } from './domain-directory.ts';
import { incrementVisibilityVersions } from './projects.ts';

/** The first and last step of deletions that span services. Both are idempotent. */

export type Target = { kind: 'organization' } | { kind: 'project'; projectId: string } | { kind: 'user'; email: string };

const FOUND = { id: column.text };

/** Finds a target, whether it is marked or not. No row if it doesn't exist. */
export function findTarget(organization: string, target: Target): Statement<column.RowOf<typeof FOUND>> {
  const find = (text: string, ...values: string[]) => ({
    name: `find_${target.kind}_to_erase`,
    row: FOUND,
    text: `select ${text}`,
    values: [organization, ...values],
  });
  switch (target.kind) {
    case 'organization':
      return find('organization as id from auth.organizations where organization = $1');
    case 'project':
      return find('project_id::text as id from auth.projects where organization = $1 and project_id = $2', target.projectId);
    case 'user':
      return find('user_id::text as id from auth.users where organization = $1 and email_folded = $2', fold(target.email));
  }
}

/** No row if the organization does not exist. */
export function markOrganization(organization: string): Statement<{ organization: string }> {
  return {
    name: 'mark_organization',
    row: { organization: column.text },
    text: 'update auth.organizations set erasing_at = least(erasing_at, now()) where organization = $1 returning organization',
    values: [organization],
  };
}

/** @returns whether the project exists */
export async function markProject(query: Query, organization: string, projectId: string): Promise<boolean> {
  const [row] = await query({
    name: 'mark_project',
    row: { userIds: column.uuidArray },
    text: `update auth.projects p set erasing_at = least(erasing_at, now()) where organization = $1 and project_id = $2
      returning array_remove(array(
        select r.user_id from auth.project_roles r where r.organization = $1 and r.project_id = $2) || p.created_by, null) as "userIds"`,
    values: [organization, projectId],
  });
  if (!row) return false;
  await query(incrementVisibilityVersions(organization, row.userIds));
  return true;
}

/** No row if nobody has this e-mail. */
export function markUser(organization: string, email: string): Statement<{ userId: string }> {
  return {
    name: 'mark_user',
    row: { userId: column.uuid },
    text: `update auth.users set erasing_at = least(erasing_at, now()), disabled_at = least(disabled_at, now()), disabled_by = 'operator'
      where organization = $1 and email_folded = $2 returning user_id as "userId"`,
    values: [organization, fold(email)],
  };
}

/** Between two steps, the organization may have been deleted and created again. */
const WHILE_ERASED = 'and exists (select from auth.organizations where organization = $1 and erasing_at is not null)';

/** Deletes a batch of projects with their roles. */
export const removeProjects = deleteNext({
  name: 'remove_projects',
  table: 'auth.projects',
  key: 'project_id',
  where: WHILE_ERASED,
});
/** Deletes a batch of users with their consents. */
export const removeUsers = deleteNext({ name: 'remove_users', table: 'auth.users', key: 'user_id', where: WHILE_ERASED });

/** Deletes the organization with its keys and its remaining users and projects, and frees its domains and issuers. Its audit trail stays. */
export async function removeOrganization(query: Query, organization: string): Promise<void> {
  const removed = await query({
    name: 'remove_organization',
    row: { organization: column.text },
    text: 'delete from auth.organizations where organization = $1 and erasing_at is not null returning organization',
    values: [organization],
  });
  if (removed.length === 0) return;
  await query({ name: 'remove_keys', text: 'delete from auth.key_directory where organization = $1', values: [organization] });
  await query({
    name: 'remove_scim_tokens',
    text: 'delete from auth.scim_token_directory where organization = $1',
    values: [organization],
  });
  await query(releaseDomains(organization));
  await query(releaseIssuers(organization));
}

export function removeProject(organization: string, projectId: string): Statement {
  return {
    name: 'remove_project',
    text: 'delete from auth.projects where organization = $1 and project_id = $2 and erasing_at is not null',
    values: [organization, projectId],
  };
}

/** Projects that the user created stay, without a creator. */
export async function removeUser(query: Query, organization: string, email: string): Promise<void> {
  const [user] = await query({
    name: 'lock_erased_user',
    row: { userId: column.uuid },
    text: `select user_id as "userId" from auth.users
      where organization = $1 and email_folded = $2 and erasing_at is not null for update`,
    values: [organization, fold(email)],
  });
  if (!user) return;
  const values = [organization, user.userId];
  await query({
    name: 'release_creator',
    text: 'update auth.projects set created_by = null where organization = $1 and created_by = $2',
    values,
  });
  await query({ name: 'remove_user', text: 'delete from auth.users where organization = $1 and user_id = $2', values });
}
