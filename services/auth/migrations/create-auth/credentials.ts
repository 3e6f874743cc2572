/** API keys, SCIM tokens, and the consents that access tokens belong to. */
export const CREDENTIALS = `
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
`;
