/**
 * Tenants, and who owns which e-mail domain and issuer. The deletion of an organization, a user or a project spans services: while `erasing_at` is set,
 * its target is neither shown nor resolved. The last step removes the row.
 */
export const ORGANIZATIONS = `
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
`;
