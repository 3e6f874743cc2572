/** Operators stand above tenants. */
export const OPERATORS = `
  create table auth.operators (
    name text collate "C" not null,
    digest bytea primary key,
    created_at timestamptz(3) not null default now(),
    revoked_at timestamptz(3),
    role text not null default 'admin',
    organizations text[] not null default '{}', -- the ones that the operator is bound to; none: all
    expires_at timestamptz(3),
    constraint operators_role_is_known check (role in ('admin', 'manager', 'importer', 'viewer', 'auditor'))
  );
  create unique index operators_live_by_name on auth.operators (name) where revoked_at is null;

  -- Programs that work by themselves. The installation writes the digests of their credentials.
  create table auth.programs (
    name text collate "C" primary key,
    digest bytea not null
  );
`;
