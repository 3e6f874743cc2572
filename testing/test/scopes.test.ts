import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = globSync('{services,packages}/*/{src,migrations}/**/*.ts', { cwd: ROOT }).filter(
  (path) => !path.endsWith('.test.ts'),
);

/** Returns the files, other than scope.ts, that contain the function's name. Every caller does, however it imports the function. */
const filesNaming = (name: string) =>
  SOURCES.filter(
    (path) =>
      path !== 'packages/kit/src/data/scope.ts' &&
      new RegExp(`\\b${name}(Now)?\\b`).test(readFileSync(`${ROOT}/${path}`, 'utf8')),
  ).sort();

// This scope reads every organization and the whole audit trail. Before you add a file, ask whether one organization is enough.
it('only the listed files use everyOrganizationScope', () => {
  expect(filesNaming('everyOrganizationScope')).toEqual([
    'services/auth/src/audit-retention.ts',
    'services/auth/src/count-action.ts',
    'services/auth/src/handlers/admin/operator-rpcs.ts',
    'services/auth/src/handlers/programs.ts',
    'services/auth/src/keys/wait-for-secrets.ts',
    'services/auth/src/sign-in/record-refusal.ts',
  ]);
});

// `credentialScope` trusts the organization that it is given. Only auth checks the credential that names the organization.
it('only auth creates a scope for the organization that a credential names', () => {
  const files = filesNaming('credentialScope');
  expect(files).toContain('services/auth/src/handlers/credentials.ts');
  expect(files.filter((path) => !path.startsWith('services/auth/src/'))).toEqual([]);
});

// `endpointScope` trusts the organization of an endpoint that is due, a table without row-level security.
it('only the webhook sender creates a scope for the organization of an endpoint', () => {
  expect(filesNaming('endpointScope')).toEqual(['services/webhooks/src/sender/deliver.ts']);
});

it('only scope.ts casts other values to Scope', () => {
  expect(SOURCES.filter((path) => /\bas (unknown as )?Scope\b/.test(readFileSync(`${ROOT}/${path}`, 'utf8')))).toEqual([
    'packages/kit/src/data/scope.ts',
  ]);
});
