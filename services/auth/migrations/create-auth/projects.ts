/** The projects that calls and entities may refer to, and who has which role. */
export const PROJECTS = `
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
