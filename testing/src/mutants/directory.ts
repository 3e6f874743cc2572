import type { Mutation } from './mutation.ts';

const ORACLE = ['services/auth/test/scim-oracle.test.ts'];
const USERS = ['services/auth/test/scim-users.test.ts'];
const GROUPS = ['services/auth/test/scim-groups.test.ts'];
const ACCESS = ['services/auth/test/scim-access.test.ts'];
const MAPS = 'services/auth/src/store/group-maps.ts';
const PROJECTS = 'services/auth/src/store/projects.ts';
const STORE = 'services/auth/src/store/directory-users.ts';
const HANDLERS = 'services/auth/src/scim/users.ts';

/** What the directory of an organization, its operators and imports may do to each other's users and roles. */
export const directory: Mutation[] = [
  {
    name: 'the directory enables users whom an operator disabled',
    file: STORE,
    find: ` and disabled_by = 'directory' returning`,
    replace: ' returning',
    tests: USERS,
  },
  {
    name: 'the directory takes over users whom an operator disabled',
    file: STORE,
    find: `disabled_by = coalesce(disabled_by, 'directory')`,
    replace: `disabled_by = 'directory'`,
    tests: USERS,
  },
  {
    name: 'a deactivated user keeps tokens',
    file: HANDLERS,
    find: `    [row] = await query(disableByDirectory(organization, userId));
    await endAccess(query, organization, userId);`,
    replace: '    [row] = await query(disableByDirectory(organization, userId));',
    tests: USERS,
  },
  {
    name: 'an operator removes roles that groups give',
    file: PROJECTS,
    find: ` and role = $4 and source = 'records'`,
    replace: ' and role = $4',
    tests: GROUPS,
  },
  {
    name: 'an import removes roles that groups give',
    file: 'services/auth/src/store/put-roles.ts',
    find: ` and source = 'records'`,
    replace: '',
    tests: GROUPS,
  },
  {
    name: 'groups take away roles that records give',
    file: MAPS,
    find: ` and r.source = 'directory'`,
    replace: '',
    tests: ORACLE,
  },
  {
    name: 'a group that gets another name keeps its roles',
    file: 'services/auth/src/scim/groups.ts',
    find: 'const isRenamed = fold(before.name) !== fold(name);',
    replace: 'const isRenamed = false;',
    tests: GROUPS,
  },
  {
    name: 'changed roles leave the version of what a user sees unchanged',
    file: MAPS,
    find: 'if (changed.size > 0)',
    replace: 'if (changed.size > 1_000)',
    tests: ORACLE,
  },
  {
    name: 'a revoked SCIM token works',
    file: 'services/auth/src/store/scim-tokens.ts',
    find: ' and t.revoked_at is null',
    replace: '',
    tests: ACCESS,
  },
  {
    name: 'auth trusts the response about a SCIM token that the tool gateway has cached',
    file: 'services/auth/src/scim/context.ts',
    find: 'if (!live) throw unauthorized();',
    replace: '',
    tests: ACCESS,
  },
];
