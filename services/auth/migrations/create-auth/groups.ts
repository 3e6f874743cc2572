/** What an organization's directory sends by SCIM besides its users, and the roles that its groups give. */
export const GROUPS = `
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
