import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SOURCES = globSync('{services,packages}/*/{src,migrations}/**/*.ts', { cwd: ROOT }).filter(
  (path) => !path.endsWith('.test.ts'),
);

/** The files that name a function, its own file left out. A file that calls it names it, however it imports it. */
const naming = (name: string) =>
  SOURCES.filter(
    (path) =>
      path !== 'packages/kit/src/data/scope.ts' && new RegExp(`\\b${name}\\b`).test(readFileSync(`${ROOT}/${path}`, 'utf8')),
  ).sort();

// The scope sees the organizations and the audit trail of everybody. Before you add a file, ask whether one organization is enough.
it('lets two files see every organization', () => {
  expect(naming('everyOrganizationScope')).toEqual([
    'services/auth/src/every-organization.ts',
    'services/auth/src/sign-in/passwords.ts',
  ]);
});

// Such a scope believes the organization that it is given. Only auth checks the credential that names the organization.
it('lets auth alone choose an organization by a credential', () => {
  const files = naming('credentialScope');
  expect(files).toContain('services/auth/src/handlers/authenticate-key.ts');
  expect(files.filter((path) => !path.startsWith('services/auth/src/'))).toEqual([]);
});

it('lets only scope.ts turn other values into a scope', () => {
  expect(SOURCES.filter((path) => /\bas (unknown as )?Scope\b/.test(readFileSync(`${ROOT}/${path}`, 'utf8')))).toEqual([
    'packages/kit/src/data/scope.ts',
  ]);
});
