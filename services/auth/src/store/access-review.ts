import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

/** Who may see what, for reviews. */

const REVIEWED_USER = {
  userId: column.uuid,
  email: column.text,
  emailFolded: column.text,
  lastUsedAt: column.timestamp.orNull,
};

/** Users who may sign in, by e-mail, with the last use of any of their connections and tokens. @param after the folded e-mail of the last user that was read */
export function reviewUsers(organization: string, after: string, limit: number): Statement<column.RowOf<typeof REVIEWED_USER>> {
  return {
    name: 'review_users',
    row: REVIEWED_USER,
    text: `select u.user_id as "userId", u.email, u.email_folded as "emailFolded", (
        select max(g.last_used_at) from auth.grants g where g.organization = $1 and g.user_id = u.user_id) as "lastUsedAt"
      from auth.users u where u.organization = $1 and u.email_folded > $2 and u.disabled_at is null and u.erasing_at is null
      order by u.email_folded limit $3`,
    values: [organization, after, limit],
  };
}

const REVIEWED_ROLE = {
  userId: column.uuid,
  projectId: column.uuid,
  role: column.text,
  source: column.text,
  groups: column.textArray,
  createdAt: column.timestamp.orNull,
};
export type ReviewedRole = column.RowOf<typeof REVIEWED_ROLE>;

/** The ways by which users see projects: `creator`, and their roles. A role by the directory comes with the groups that give it. */
export function reviewRoles(organization: string, userIds: string[]): Statement<ReviewedRole> {
  return {
    name: 'review_roles',
    row: REVIEWED_ROLE,
    text: `select ways.* from (
        select created_by as "userId", project_id as "projectId", 'creator' as role, 'records' as source, array[]::text[] as groups,
          null::timestamptz as "createdAt"
        from auth.projects where organization = $1 and created_by = any($2::uuid[]) and erasing_at is null
        union all
        select r.user_id, r.project_id, r.role, r.source, case when r.source = 'directory' then array(
            select g.name from auth.group_members m join auth.groups g using (organization, group_id)
              join auth.group_maps p using (organization, name_folded)
            where m.organization = $1 and m.user_id = r.user_id and p.project_id = r.project_id and p.role = r.role
            order by g.name_folded) else array[]::text[] end, r.created_at
        from auth.project_roles r join auth.projects p using (organization, project_id)
        where r.organization = $1 and r.user_id = any($2::uuid[]) and p.erasing_at is null
      ) ways order by "projectId", role, source`,
    values: [organization, userIds],
  };
}

const GIVER = { action: column.text, target: column.text, actor: column.text };

/** Who gave roles and credentials last, if the audit trail says so. @param targets as the entries name them */
export function findGivers(organization: string, targets: string[]): Statement<column.RowOf<typeof GIVER>> {
  return {
    name: 'find_givers',
    row: GIVER,
    // The actions are those of the index `audit_givers`.
    text: `select distinct on (action, target) action, target, actor from auth.audit
      where organization = $1 and target = any($2::text[])
        and action in ('member.add.lead', 'member.add.member', 'key.create', 'scim-token.create') and outcome = 'done'
      order by action, target, audit_id desc`,
    values: [organization, targets],
  };
}
