import type { Mutation } from './mutation.ts';

const tests = ['services/tool-gateway/test/visibility-oracle.test.ts'];
const ROLES = 'services/auth/src/store/projects.ts';

/** Conditions that keep the users of one organization apart. */
export const visibility: Mutation[] = [
  {
    name: 'list_calls lists calls of others among those that the user conducted',
    file: 'services/calls/src/store/list-user-calls.ts',
    find: `.where('c.conducted_by', userId)`,
    replace: '',
    tests,
  },
  {
    name: 'get_call shows every call',
    file: 'services/calls/src/store/get-user-call.ts',
    find: '(conducted_by = $3 or project_id = any($4::uuid[]))',
    replace: '($4::uuid[] is not null)',
    tests,
  },
  {
    name: "get_call shows another user's note",
    file: 'services/calls/src/store/get-user-call.ts',
    find: ' and n.user_id = $3)',
    replace: ' order by n.user_id limit 1)',
    tests,
  },
  {
    name: 'everybody sees a project that has a creator',
    file: ROLES,
    find: 'created_by = $2 and erasing_at is null',
    replace: '$2::uuid is not null and created_by is not null and erasing_at is null',
    tests,
  },
  {
    name: 'everybody sees a project that has members',
    file: ROLES,
    find: 'r.user_id = $2 and p.erasing_at is null',
    replace: '$2::uuid is not null and p.erasing_at is null',
    tests,
  },
  {
    name: 'members of a project are shown as its leads',
    file: ROLES,
    find: `bool_or(via = 'lead')`,
    replace: 'true',
    tests,
  },
  {
    name: 'list_projects lists projects that the user is only a member of among the own ones',
    file: 'services/projects/src/handlers/list-user-projects.ts',
    find: '!mine || roles.created || roles.lead',
    replace: '!mine || roles.created || roles.lead || roles.member',
    tests,
  },
  {
    name: 'list_projects lists archived projects by default',
    file: 'services/projects/src/store/list-projects.ts',
    find: '($3 or not is_archived)',
    replace: '$3::bool is not null',
    tests,
  },
  {
    name: "list_entities lists entities of a project that the user can't see",
    file: 'services/entities/src/handlers/list-user-entities.ts',
    find: 'visible.has(query.projectId)',
    replace: 'visible.size >= 0',
    tests,
  },
];
