import { roleOf } from '@crs/kit/data/migration';

const ROLE = roleOf('auth');
const OF_TENANT = `organization = nullif(current_setting('app.organization_id', true), '')`;

/** The audit trail. */
export const AUDIT = `
  -- Equal refusals within a minute share an entry, which counts them: the count is all that the service's role may change in the trail.
  create table auth.audit (
    organization text collate "C" not null, -- '*': above tenants
    audit_id bigint generated always as identity,
    at timestamptz(3) not null default now(),
    actor text not null,
    action text not null,
    target text not null,
    outcome text not null default 'done',
    changes jsonb,
    address text,
    count integer not null default 1,
    counted_as bytea, -- a digest of all that the entry's actions have in common
    counted_until timestamptz(3),
    primary key (organization, audit_id)
  );
  create index audit_by_time on auth.audit (audit_id desc);
  -- Who gave roles and credentials, for reviews of access.
  create index audit_givers on auth.audit (organization, target)
    where action in ('member.add.lead', 'member.add.member', 'key.create', 'scim-token.create');
  create unique index audit_counted on auth.audit (organization, counted_as, counted_until) where counted_as is not null;
`;

/**
 * Policies in place of the one that every table of tenants gets. Entries of the audit trail may be deleted when they are older than 90 days. One policy
 * for all commands would admit younger ones. A restrictive policy would not, but Citus makes it permissive on its workers.
 */
export const AUDIT_POLICIES = `
  drop policy tenant on auth.audit;
  create policy tenant_reads on auth.audit for select to ${ROLE} using (${OF_TENANT});
  create policy tenant_adds on auth.audit for insert to ${ROLE} with check (${OF_TENANT});
  create policy tenant_counts on auth.audit for update to ${ROLE} using (${OF_TENANT}) with check (${OF_TENANT});
  create policy retention on auth.audit for delete to ${ROLE}
    using (current_setting('app.organization_id', true) = '*' and at < now() - interval '90 days');
`;
