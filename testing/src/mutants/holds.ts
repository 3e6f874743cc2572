import type { Mutation } from './mutation.ts';

const DOMAIN = 'services/calls/src/domain/holds.ts';
const STORE = 'services/calls/src/store/holds.ts';
const UNHELD = 'services/calls/src/handlers/require-unheld.ts';
const tests = ['services/calls/test/holds-model.test.ts'];

/** Ways by which a call on hold would disappear, or leave its project. */
export const holds: Mutation[] = [
  {
    name: 'a line deletes a held call',
    file: DOMAIN,
    find: 'if (holdId !== undefined && deleted) held',
    replace: 'if (holdId === null && deleted) held',
    tests,
  },
  {
    name: 'a line moves a held call out of its project',
    file: DOMAIN,
    find: 'after !== undefined && after !== before',
    replace: 'after !== undefined && after === undefined',
    tests,
  },
  {
    name: 'a line deletes a call that an earlier line of the batch moved into a held project',
    file: DOMAIN,
    find: 'else if (after !== undefined) projects.set(callId, after);',
    replace: '',
    tests: ['services/calls/test/holds.test.ts'],
  },
  {
    name: 'a hold of a project keeps no calls',
    file: DOMAIN,
    find: 'if (projectId !== null) this.#byProject.set(projectId, holdId);',
    replace: '',
    tests,
  },
  {
    name: 'a project with a held call is deleted',
    file: UNHELD,
    find: 'const [hold] = await query(findHoldOfProject(organization, target.value));',
    replace: 'const [hold] = (await query(findHoldOfProject(organization, target.value))).slice(1);',
    tests,
  },
  {
    name: 'the conductor of a held call is deleted',
    file: STORE,
    find: 'where organization = $1 and conducted_by = $2\n        union all',
    replace: 'where organization = $1 and conducted_by = $2 and false\n        union all',
    tests,
  },
  {
    name: 'the writer of a note on a held call is deleted',
    file: STORE,
    find: 'where n.organization = $1 and n.user_id = $2)',
    replace: 'where n.organization = $1 and n.user_id = $2 and false)',
    tests,
  },
  {
    name: 'an organization with a hold is deleted',
    file: UNHELD,
    find: 'const [hold] = await query(findHoldOfOrganization(organization));',
    replace: 'const [hold] = (await query(findHoldOfOrganization(organization))).slice(1);',
    tests,
  },
  {
    name: 'retention deletes held calls',
    file: 'services/calls/src/store/retain-calls.ts',
    find: 'holds.of(callId, projectId) === undefined',
    replace: 'holds.of(callId, projectId) !== null',
    tests,
  },
  {
    name: 'retention deletes in its first run',
    file: 'services/calls/src/store/retain-calls.ts',
    find: 'countedFor?.getTime() === changedAt.getTime() ? Math',
    replace: 'changedAt.getTime() !== 0 || countedFor ? Math',
    tests: ['services/calls/test/retention.test.ts'],
  },
  {
    name: 'a hold is created although its project is being deleted',
    file: 'services/calls/src/handlers/holds.ts',
    find: 'if (found.projects.length < asked.projectIds.length)',
    replace: 'if (found.projects.length < 0)',
    tests: ['services/calls/test/hold-races.test.ts'],
  },
  {
    name: 'a deletion looks for holds without the lock that their creation takes',
    file: 'services/calls/src/handlers/begin-erasure.ts',
    find: "await query(lockImports('calls', scope.organization));",
    replace: '',
    tests: ['services/calls/test/hold-races.test.ts'],
  },
];
