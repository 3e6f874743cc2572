import type { Query } from '@crs/kit/data/database';
import { fold } from '@crs/kit/text';
import type { EarlierLines } from '@crs/proto/crs/imports/v1/imports';
import { insertOrganization, updateOrganization } from './organizations.ts';
import { insertProjects } from './projects.ts';

/** Leaves the rows as the earlier lines of a checked file would have left them. For a transaction that is rolled back. */
export async function supposeEarlier(query: Query, organization: string, earlier: EarlierLines | undefined): Promise<void> {
  if (!earlier) return;
  if (earlier.organization) {
    const change = { name: earlier.organization.name };
    const [inserted] = await query(insertOrganization(organization, change));
    const update = inserted ? undefined : updateOrganization(organization, change);
    if (update) await query(update);
  }
  const users = earlier.users.map(({ email, ...user }) => ({ folded: fold(email), ...user }));
  const deleted = [organization, users.filter((user) => user.deleted).map(({ folded }) => folded)];
  await query({
    name: 'suppose_creators_cleared',
    text: `update auth.projects p set created_by = null from auth.users u
      where p.organization = $1 and u.organization = $1 and u.user_id = p.created_by and u.email_folded = any($2)`,
    values: deleted,
  });
  await query({
    name: 'suppose_users_deleted',
    text: 'delete from auth.users where organization = $1 and email_folded = any($2)',
    values: deleted,
  });
  const stored = users.filter((user) => user.stored);
  await query({
    name: 'suppose_users_stored',
    text: `insert into auth.users as u (organization, user_id, email, email_folded, password_hash)
      select $1, gen_random_uuid(), email, email, password from unnest($2::text[], $3::text[]) as new (email, password) order by email
      on conflict (organization, email_folded) do update set password_hash = coalesce(u.password_hash, excluded.password_hash)`,
    values: [
      organization,
      stored.map(({ folded }) => folded),
      stored.map(({ hasPassword }) => (hasPassword ? 'supposed' : null)),
    ],
  });
  await query({
    name: 'suppose_projects_deleted',
    text: 'delete from auth.projects where organization = $1 and project_id = any($2::uuid[])',
    values: [organization, earlier.projects.filter(({ deleted }) => deleted).map(({ projectId }) => projectId)],
  });
  const projects = earlier.projects.filter((project) => project.stored);
  await query(
    insertProjects(
      organization,
      projects.map(({ projectId }) => ({ projectId, createdBy: null })),
    ),
  );
}
