/** Users and their identities at the provider of their organization. */
export const PEOPLE = `
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
`;
