import type { Mutation } from './mutation.ts';

const LIST_CALLS = 'services/calls/src/store/list-calls.ts';
const tests = ['testing/test/row-level-security.test.ts'];

/** Statements that lack their predicate on the organization. */
const predicates: Mutation[] = [
  {
    name: 'GET /v1/calls lists calls of every organization',
    file: LIST_CALLS,
    find: 'from calls.calls c where organization = $1 and',
    replace: 'from calls.calls c where $1::text is not null and',
    tests,
  },
  {
    name: 'the total of GET /v1/calls counts calls of every organization',
    file: LIST_CALLS,
    find: 'from calls.call_days where organization = $1 and',
    replace: 'from calls.call_days where $1::text is not null and',
    tests,
  },
  {
    name: 'GET /v1/calls/{call_id} shows a call of another organization',
    file: 'services/calls/src/store/get-call.ts',
    find: 'where c.organization = $1 and',
    replace: 'where $1::text is not null and',
    tests,
  },
  {
    name: 'GET /v1/changes lists changes of every organization',
    file: 'packages/records/src/feed/feed.ts',
    find: 'where organization = $1 and not deleted',
    replace: 'where $1::text is not null and not deleted',
    tests,
  },
  {
    name: 'GET /v1/projects and GET /v1/entities list records of every organization',
    file: 'packages/records/src/feed/list-records.ts',
    find: 'where organization = $1 $',
    replace: 'where $1::text is not null $',
    tests,
  },
  {
    name: 'an import compares calls with those of another organization',
    file: 'services/calls/src/store/import-calls.ts',
    find: 'where organization = $1 and call_id = wanted.call_id',
    replace: 'where $1::text is not null and call_id = wanted.call_id',
    tests,
  },
  {
    name: 'list_calls lists calls of another organization',
    file: 'services/calls/src/store/list-user-calls.ts',
    find: `rows.where('c.organization', organization);`,
    replace: '',
    tests,
  },
  {
    name: 'list_projects lists projects of another organization',
    file: 'services/projects/src/store/list-projects.ts',
    find: 'where organization = $1 and project_id = any',
    replace: 'where $1::text is not null and project_id = any',
    tests,
  },
  {
    name: 'an idempotency key returns the project of another organization',
    file: 'services/projects/src/store/creations.ts',
    find: 'from projects.creations where organization = $1 and idempotency_key = $2 for update',
    replace: 'from projects.creations where $1::text is not null and idempotency_key = $2 for update',
    tests,
  },
  {
    name: 'list_entities lists entities of another organization',
    file: 'services/entities/src/store/list-entities.ts',
    find: 'where organization = $1 and project_id = $2',
    replace: 'where $1::text is not null and project_id = $2',
    tests,
  },
  {
    name: 'an API key has the rights of a key of another organization',
    file: 'services/auth/src/store/api-keys.ts',
    find: 'where k.organization = $1 and',
    replace: 'where $1::text is not null and',
    tests,
  },
  {
    name: 'disabling a user disables the users of every organization with that e-mail',
    file: 'services/auth/src/store/users.ts',
    find: 'where organization = $1 and email_folded = $2 and erasing_at is null returning',
    replace: 'where $1::text is not null and email_folded = $2 and erasing_at is null returning',
    tests,
  },
  {
    name: 'a user sees projects by roles in another organization',
    file: 'services/auth/src/store/projects.ts',
    find: 'where r.organization = $1 and r.user_id = $2',
    replace: 'where $1::text is not null and r.user_id = $2',
    tests,
  },
  {
    name: "ending a user's sessions ends those of a user of another organization",
    file: 'services/auth/src/store/users.ts',
    find: 'set session_version = session_version + 1 where organization = $1 and',
    replace: 'set session_version = session_version + 1 where $1::text is not null and',
    tests,
  },
  {
    name: 'an operator revokes a token of another organization',
    file: 'services/auth/src/store/consents.ts',
    find: 'where organization = $1 and grant_id = $2 returning *',
    replace: 'where $1::text is not null and grant_id = $2 returning *',
    tests,
  },
  {
    name: "an organization's audit trail shows entries of every organization",
    file: 'services/auth/src/store/audit.ts',
    find: 'where organization = any ($1::text[]) or $2 order by audit_id desc',
    replace: 'where $1::text[] is not null or $2 order by audit_id desc',
    tests,
  },
];

const rowSecurity: Mutation[] = [
  {
    name: "row-level security doesn't bind the owner of a table",
    file: 'packages/kit/src/data/migration.ts',
    find: `await db.raw('alter table :schema:.:table: force row level security', names);`,
    replace: '',
    tests: ['services/auth/test/catalog.test.ts'],
  },
  {
    name: 'row-level security shows rows of every organization',
    file: 'packages/kit/src/data/migration.ts',
    find: 'using (${IS_TENANT}) with check',
    replace: 'using (true) with check',
    tests,
  },
];

export const tenants: Mutation[] = [...predicates, ...rowSecurity];
