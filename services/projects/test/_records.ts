// Import lines for tests of the projects service, and queries for what they stored.

import type { World } from '@crs/testing/world';

export const ANN = 'ann@crs.example';
export const BOB = 'bob@crs.example';
export const CID = 'cid@crs.example';
export const ALPHA = '00000000-0000-4000-8000-00000000000a';
export const BETA = '00000000-0000-4000-8000-00000000000b';

export const organization = (id: string, settings: object = {}) => ({
  type: 'organization',
  id,
  name: id,
  write_surface: true,
  rate_limit: { requests: 1_000_000, period_seconds: 60 },
  ...settings,
});
export const user = (tenant: string, email: string, more: object = {}) => ({
  type: 'user',
  organization: tenant,
  email,
  name: email,
  ...more,
});
export const office = (tenant: string, name: unknown, more: object = {}) => ({
  type: 'billing_office',
  organization: tenant,
  name,
  ...more,
});
export const project = (tenant: string, id: string, more: object = {}) => ({
  type: 'project',
  organization: tenant,
  id,
  ...more,
});

/** An organization with three users and two offices. All organizations use the same ids, so that tests notice if they are mixed up. */
export function tenantRecords(id: string, settings: object = {}): object[] {
  const people = [ANN, BOB, CID].map((email) => user(id, email));
  return [organization(id, settings), ...people, office(id, 'London', { is_default: true }), office(id, 'Paris')];
}

/** The offices of an organization, each as `name` or `name (default)`. */
export async function officesOf(world: World, tenantId: string): Promise<string[]> {
  const { rows } = await world.query(
    `select name || case when is_default then ' (default)' else '' end as text from projects.billing_offices where organization = $1 order by 1`,
    [tenantId],
  );
  return rows.map(({ text }) => text);
}

/** The stored projects of an organization, in the order of their ids. */
export async function projectsOf(world: World, tenantId: string): Promise<Record<string, unknown>[]> {
  const { rows } = await world.query(
    `select project_id as id, name, summary, status, is_archived, created_at, billing_office_name from projects.projects
      where organization = $1 order by 1`,
    [tenantId],
  );
  return rows;
}

/** A project's creator and roles as auth has them, by e-mail address. Undefined if auth doesn't have the project. */
export async function grantOf(
  world: World,
  tenantId: string,
  id: string,
): Promise<{ createdBy: string | null; roles: string[] } | undefined> {
  const { rows } = await world.query(
    `select (select email from auth.users u where (u.organization, u.user_id) = (p.organization, p.created_by)) as "createdBy",
        array(select u.email || ' ' || r.role from auth.project_roles r join auth.users u using (organization, user_id)
          where (r.organization, r.project_id) = (p.organization, p.project_id) order by 1) as roles
      from auth.projects p where organization = $1 and project_id = $2`,
    [tenantId, id],
  );
  return rows[0];
}
