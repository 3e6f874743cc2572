import type { Knex } from 'knex';
import { protectByTenant, roleOf, type Migration } from '@crs/kit/data/migration';

const ROLE = roleOf('auth');
const OF_TENANT = `organization = nullif(current_setting('app.organization_id', true), '')`;
const TENANT_TABLES = [
  'organizations',
  'users',
  'user_identities',
  'projects',
  'project_roles',
  'groups',
  'group_members',
  'group_maps',
  'api_keys',
  'scim_tokens',
  'audit',
  'grants',
];

/**
 * Tenants, people, keys and project roles. Ids are unique within an organization, which comes first in every key. `key_directory`,
 * `scim_token_directory`, `domain_directory`, `assertion_issuers` and the tables of `ABOVE_TENANTS` stand above tenants and hold no tenant content.
 */
export const createAuth: Migration = {
  name: '20261125T033000-create-auth',

  async up(db: Knex) {
    await db.raw(TENANTS);
    await db.raw(GROUPS);
    await db.raw(ACCESS);
    await db.raw(ABOVE_TENANTS);
    for (const table of TENANT_TABLES) await protectByTenant(db, 'auth', table);
    // An operator's token for no organization lists organizations and reads the whole audit trail; '*' can be no organization's id.
    for (const table of ['organizations', 'audit']) {
      await db.raw(
        `create policy above_tenants on auth.?? for select to ?? using (current_setting('app.organization_id', true) = '*')`,
        [table, ROLE],
      );
    }
    await db.raw(AUDIT_POLICIES);
    await db.raw(`
      grant select, insert, update, delete on
        auth.organizations, auth.users, auth.user_identities, auth.projects, auth.project_roles, auth.groups, auth.group_members, auth.group_maps,
        auth.api_keys, auth.key_directory, auth.scim_tokens, auth.scim_token_directory, auth.domain_directory, auth.assertion_issuers, auth.grants, auth.caller_keys, auth.token_keys, auth.clients, auth.oidc_payloads, auth.throttles to ${ROLE};
      grant select, insert, update on auth.operators to ${ROLE};
      grant select, insert, update (count), delete on auth.audit to ${ROLE};
      grant select, insert on auth.retired_keys to ${ROLE};
    `);
  },

  async down(db: Knex) {
    await db.raw(`drop table auth.throttles, auth.oidc_payloads, auth.clients, auth.operators, auth.retired_keys, auth.token_keys, auth.caller_keys,
      auth.grants, auth.assertion_issuers, auth.domain_directory, auth.scim_token_directory, auth.key_directory, auth.audit, auth.scim_tokens,
      auth.api_keys, auth.group_maps, auth.group_members, auth.groups, auth.project_roles, auth.projects, auth.user_identities, auth.users,
      auth.organizations`);
  },
};

/**
 * Entries of the audit trail may be deleted when they are older than 90 days. One policy for all commands would admit younger ones. A restrictive policy
 * would not, but Citus makes it permissive on its workers.
 */
const AUDIT_POLICIES = `
  drop policy tenant on auth.audit;
  create policy tenant_reads on auth.audit for select to ${ROLE} using (${OF_TENANT});
  create policy tenant_adds on auth.audit for insert to ${ROLE} with check (${OF_TENANT});
  create policy tenant_counts on auth.audit for update to ${ROLE} using (${OF_TENANT}) with check (${OF_TENANT});
  create policy retention on auth.audit for delete to ${ROLE}
    using (current_setting('app.organization_id', true) = '*' and at < now() - interval '90 days');
`;

/** A deletion spans services: while `erasing_at` is set, its target is neither shown nor resolved. Its last step removes the row. */
const TENANTS = `
  create table auth.organizations (
    organization text collate "C" primary key check (organization ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
    name text,
    write_surface boolean not null default false,
    anonymize_interviewees boolean not null default false,
    allowed_fields text[], -- null: the default set
    rate_limit_requests integer not null default 600 check (rate_limit_requests > 0),
    rate_limit_period_seconds integer not null default 60 check (rate_limit_period_seconds > 0),
    tool_rate_limit_requests integer not null default 120 check (tool_rate_limit_requests > 0),
    tool_rate_limit_period_seconds integer not null default 60 check (tool_rate_limit_period_seconds > 0),
    delete_limit integer not null default 1000 check (delete_limit > 0), -- an hour
    retain_calls text not null default 'none' check (retain_calls ~ '^(none|[1-9][0-9]{0,4}[yd])$'), -- how long calls are kept
    retain_by text not null default 'date' check (retain_by in ('date', 'created')),
    retain_per_day integer not null default 10000 check (retain_per_day > 0), -- calls that retention deletes
    retain_changed_at timestamptz(3) not null default now(), -- when one of the three settings before last changed
    clients text not null default 'any' check (clients in ('any', 'listed')), -- the OAuth clients that get consent and tokens
    client_hosts text[] not null default '{}', -- hosts of metadata documents, in lower case
    own_tokens boolean not null default false, -- whether users may make tokens for themselves
    created_at timestamptz(3) not null default now(),
    suspended_at timestamptz(3), -- while it is set, only operators have access
    erasing_at timestamptz(3),
    -- The organization's own OpenID provider.
    oidc_issuer text,
    oidc_client_id text,
    oidc_client_secret_encrypted bytea, -- null: a public client
    oidc_domains text[],
    oidc_email_proof text check (oidc_email_proof in ('claim', 'xms_edov', 'issuer')),
    assertion_issuers text[] not null default '{}',
    -- Version of the settings that decide how calls are rendered.
    settings_version integer not null default 1,
    settings_changed_at timestamptz(3) not null default now(),
    constraint oidc_provider_is_whole check (
      num_nulls(oidc_issuer, oidc_client_id, oidc_domains, oidc_email_proof) in (0, 4) and (oidc_issuer is not null or oidc_client_secret_encrypted is null)),
    constraint assertion_issuers_need_provider check (oidc_issuer is not null or assertion_issuers = '{}')
  );

  create table auth.users (
    organization text collate "C" not null references auth.organizations on delete cascade,
    user_id uuid not null,
    email text not null,
    email_folded text collate "C" not null,
    name text,
    password_hash text,
    disabled_at timestamptz(3),
    disabled_by text check (disabled_by in ('operator', 'directory')), -- the directory enables only whom it disabled
    external_id text collate "C", -- the directory's id
    given_name text, -- as the directory sent them: \`name\` may be derived from both
    family_name text,
    deleted_in_directory boolean not null default false, -- the directory deleted the user, and may create them again
    visibility_version bigint not null default 1,
    created_at timestamptz(3) not null default now(),
    updated_at timestamptz(3) not null default now(), -- of what the directory sees
    erasing_at timestamptz(3),
    session_version integer not null default 0, -- a browser session ends when it changes
    primary key (organization, user_id),
    unique (organization, email_folded),
    constraint disabled_by_somebody check ((disabled_at is null) = (disabled_by is null)),
    constraint deleted_users_are_disabled check (disabled_at is not null or not deleted_in_directory)
  );
  create index users_by_external_id on auth.users (organization, external_id) where external_id is not null;

  -- The ids of users at the organization's provider.
  create table auth.user_identities (
    organization text collate "C" not null,
    issuer text collate "C" not null,
    subject text collate "C" not null,
    user_id uuid not null,
    created_at timestamptz(3) not null default now(),
    primary key (organization, issuer, subject),
    unique (organization, user_id, issuer),
    foreign key (organization, user_id) references auth.users on delete cascade
  );

  -- Whoever deletes a user clears \`created_by\` first: Citus refuses foreign keys that set a column to null.
  create table auth.projects (
    organization text collate "C" not null references auth.organizations on delete cascade,
    project_id uuid not null,
    created_by uuid,
    erasing_at timestamptz(3),
    primary key (organization, project_id),
    foreign key (organization, created_by) references auth.users
  );
  create index projects_by_creator on auth.projects (organization, created_by) where created_by is not null;

  create table auth.project_roles (
    organization text collate "C" not null,
    project_id uuid not null,
    user_id uuid not null,
    role text not null check (role in ('lead', 'member')),
    -- directory: follows from \`group_maps\`. Each source takes away only its own roles.
    source text not null default 'records' check (source in ('records', 'directory')),
    created_at timestamptz(3) not null default now(),
    primary key (organization, user_id, project_id, role, source),
    foreign key (organization, project_id) references auth.projects on delete cascade,
    foreign key (organization, user_id) references auth.users on delete cascade
  );
  create index project_roles_by_project on auth.project_roles (organization, project_id);
`;

/** What an organization's directory sends by SCIM besides its users, and the roles that its groups give. */
const GROUPS = `
  create table auth.groups (
    organization text collate "C" not null references auth.organizations on delete cascade,
    group_id uuid not null,
    name text not null,
    name_folded text collate "C" not null,
    external_id text collate "C",
    created_at timestamptz(3) not null default now(),
    updated_at timestamptz(3) not null default now(),
    primary key (organization, group_id),
    unique (organization, name_folded)
  );
  create index groups_by_external_id on auth.groups (organization, external_id) where external_id is not null;

  create table auth.group_members (
    organization text collate "C" not null,
    group_id uuid not null,
    user_id uuid not null,
    primary key (organization, group_id, user_id),
    foreign key (organization, group_id) references auth.groups on delete cascade,
    foreign key (organization, user_id) references auth.users on delete cascade
  );
  create index group_members_by_user on auth.group_members (organization, user_id);

  -- The role that members of the group with this name have. The group may not exist yet.
  create table auth.group_maps (
    organization text collate "C" not null,
    name text not null,
    name_folded text collate "C" not null,
    project_id uuid not null,
    role text not null check (role in ('lead', 'member')),
    created_at timestamptz(3) not null default now(),
    primary key (organization, name_folded, project_id, role),
    foreign key (organization, project_id) references auth.projects on delete cascade
  );
  create index group_maps_by_project on auth.group_maps (organization, project_id);
`;

/** Credentials, consents, and the audit trail. */
const ACCESS = `
  create table auth.api_keys (
    organization text collate "C" not null references auth.organizations on delete cascade,
    key_id text collate "C" not null,
    digest bytea not null,
    prefix text not null,
    label text not null,
    rights text[] not null,
    networks text[] not null, -- empty: usable from everywhere
    created_at timestamptz(3) not null default now(),
    expires_at timestamptz(3),
    revoked_at timestamptz(3),
    last_used_at timestamptz(3),
    primary key (organization, key_id)
  );

  -- The organization of each key. Readable without a tenant scope, because a request's organization is only known from its key.
  create table auth.key_directory (
    digest bytea primary key,
    organization text collate "C" not null,
    key_id text collate "C" not null
  );
  create index key_directory_by_organization on auth.key_directory (organization);

  -- Tokens with which an organization's directory uses SCIM.
  create table auth.scim_tokens (
    organization text collate "C" not null references auth.organizations on delete cascade,
    token_id text collate "C" not null,
    digest bytea not null,
    label text not null,
    created_at timestamptz(3) not null default now(),
    revoked_at timestamptz(3),
    last_used_at timestamptz(3),
    primary key (organization, token_id)
  );

  -- The organization of each SCIM token. Readable without a tenant scope, like the directory of keys.
  create table auth.scim_token_directory (
    digest bytea primary key,
    organization text collate "C" not null,
    token_id text collate "C" not null
  );
  create index scim_token_directory_by_organization on auth.scim_token_directory (organization);

  -- The organization of each e-mail domain. Readable without a tenant scope, because sign-in finds the organization by it.
  create table auth.domain_directory (
    domain text collate "C" primary key, -- in lower case
    organization text collate "C" not null
  );
  create index domain_directory_by_organization on auth.domain_directory (organization);

  -- The organization of each issuer of identity assertions. Readable without a tenant scope, because an assertion names only its issuer.
  create table auth.assertion_issuers (
    issuer text collate "C" primary key,
    organization text collate "C" not null
  );
  create index assertion_issuers_by_organization on auth.assertion_issuers (organization);

  -- Consents of users to assistants. Each access token belongs to a grant, and is valid only while the grant is.
  create table auth.grants (
    organization text collate "C" not null,
    grant_id text collate "C" not null,
    user_id uuid not null,
    kind text not null check (kind in ('oauth', 'operator', 'own', 'managed')),
    client_id text collate "C" check ((client_id is not null) = (kind in ('oauth', 'managed'))),
    client text not null, -- who holds the token, for people
    redirect_hosts text[] not null default '{}', -- where the client may send codes to, for people
    scopes text[] not null,
    created_at timestamptz(3) not null default now(),
    expires_at timestamptz(3) not null,
    revoked_at timestamptz(3),
    last_used_at timestamptz(3),
    primary key (organization, grant_id),
    foreign key (organization, user_id) references auth.users on delete cascade
  );
  create index grants_by_user on auth.grants (organization, user_id);
  create unique index grants_managed on auth.grants (organization, user_id, client_id) where kind = 'managed';

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

const ABOVE_TENANTS = `
  create table auth.caller_keys (
    key_id text collate "C" primary key,
    private_key_encrypted bytea not null,
    sign_from timestamptz(3) not null,
    created_at timestamptz(3) not null default now()
  );

  -- Keys that access tokens are signed with. Unlike caller keys they stay: tokens may live for years.
  create table auth.token_keys (
    key_id text collate "C" primary key,
    private_key_encrypted bytea not null,
    created_at timestamptz(3) not null default now(),
    sign_from timestamptz(3) not null default now(),
    protected_until timestamptz(3) -- when the last token of an operator or a user that it signed expires
  );

  -- Without private keys.
  create table auth.retired_keys (
    key_id text collate "C" primary key,
    sign_from timestamptz(3) not null,
    retired_at timestamptz(3) not null default now()
  );

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

  -- Clients that an operator has registered.
  create table auth.clients (
    client_id text collate "C" primary key,
    name text not null,
    redirect_uris text[] not null,
    secret_encrypted bytea, -- null: a public client
    created_at timestamptz(3) not null default now()
  );

  -- The stored data of the authorization server. The organization of a code or a refresh token is known only after the row is found.
  create table auth.oidc_payloads (
    model text collate "C" not null,
    id_digest bytea not null, -- a digest, because most ids are secrets
    payload_encrypted bytea not null,
    uid_digest bytea, -- only sessions have this second id
    grant_id text collate "C",
    expires_at timestamptz(3) not null,
    consumed_at timestamptz(3),
    -- When unauthenticated clients store too many authorizations and clients, those that a browser came back for are deleted last.
    browser_returned boolean not null default false,
    primary key (model, id_digest)
  );
  create index oidc_payloads_by_uid on auth.oidc_payloads (uid_digest) where uid_digest is not null;
  create index oidc_payloads_by_grant on auth.oidc_payloads (grant_id) where grant_id is not null;
  create index oidc_payloads_by_expiry on auth.oidc_payloads (expires_at);

  -- The number of tries in a window that begins with the first one.
  create table auth.throttles (
    bucket bytea primary key,
    tries integer not null,
    resets_at timestamptz(3) not null
  );
  create index throttles_by_reset on auth.throttles (resets_at);
`;
