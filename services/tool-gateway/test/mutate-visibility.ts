// Removes one clause that keeps users or tenants apart after the other from the code, and checks that the oracle's test fails each time.
//
//   node services/tool-gateway/test/mutate-visibility.ts [--only <part of a name>]
//
// The worlds are those of `npm test`, unless `CRS_WORLDS` and `CRS_TEST_SEED` say otherwise.
// The script works on its own checkout of HEAD. Row-level security is off, as it would hide a missing clause.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

interface Mutation {
  file: string;
  /** The clause and its number, for the report. */
  name: string;
  mutate: (source: string) => string;
}

const { values: options } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const CALLS = 'services/calls/src/store/list-user-calls.ts';
const CALL = 'services/calls/src/store/get-user-call.ts';
const PROJECTS = 'services/projects/src/store/list-projects.ts';
const ENTITIES = 'services/entities/src/store/list-entities.ts';
const ROLES = 'services/auth/src/store/projects.ts';

/** Replaces one occurrence of the clause. @throws Error if the file has no such occurrence */
function replacing(file: string, clause: string, by: string, occurrence = 0): Mutation {
  return {
    file,
    name: `${clause}${occurrence > 0 ? ` (${occurrence + 1})` : ''}`,
    mutate: (source) => {
      const parts = source.split(clause);
      if (parts.length < occurrence + 2) throw new Error(`${file} has no ${clause}`);
      return [parts.slice(0, occurrence + 1).join(clause), parts.slice(occurrence + 1).join(clause)].join(by);
    },
  };
}

/** Every `organization = $1` of a file, or of one function in it. */
function tenantClauses(file: string, startsAt = '', endsAt = '\uffff'): Mutation[] {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const start = source.indexOf(startsAt);
  const end = source.includes(endsAt) ? source.indexOf(endsAt, start) : source.length;
  return [...source.slice(start, end).matchAll(/(\w+\.)?organization = \$1/g)].map((match, n) => ({
    file,
    name: `${match[0]} (${n + 1}${startsAt && ` of ${startsAt}`})`,
    mutate: (text) => {
      const at = start + match.index;
      return `${text.slice(0, at)}$1::text is not null${text.slice(at + match[0].length)}`;
    },
  }));
}

const MUTATIONS: Mutation[] = [
  replacing(CALLS, `rows.where('c.organization', organization);`, ''),
  ...tenantClauses(CALL),
  ...tenantClauses(PROJECTS, 'listProjects', 'export function listAllProjects'),
  ...tenantClauses(ENTITIES),
  // The user's own row tells the version of the set, which no tool shows.
  ...tenantClauses(ROLES, 'visibleProjects', 'from auth.users u'),

  replacing(CALLS, `.where('c.conducted_by', userId)`, ''),
  replacing(CALLS, `(c.project_id is null or c.project_id <> all(?::uuid[]))`, '?::uuid[] is not null'),
  replacing(CALLS, `.whereRaw('c.project_id = p.project_id')`, ''),
  replacing(CALLS, 'visible.filter((id) => id === filters.projectId)', '[filters.projectId]'),
  replacing(CALL, '(conducted_by = $3 or project_id = any($4::uuid[]))', '($4::uuid[] is not null)'),
  replacing(CALL, 'conducted_by = $3 or ', '$3::uuid is null or '),
  replacing(CALL, ' and n.user_id = $3', ''),
  replacing(PROJECTS, 'project_id = any($2::uuid[])', '$2::uuid[] is not null'),
  replacing(PROJECTS, '($3 or not is_archived)', '$3::bool is not null'),
  replacing('services/projects/src/handlers/list-user-projects.ts', '!mine || roles.created || roles.lead', 'true || roles'),
  replacing(ENTITIES, 'project_id = $2', '$2::uuid is not null'),
  replacing('services/entities/src/handlers/list-user-entities.ts', 'visible.has(query.projectId)', '(true || visible)'),
  replacing(ROLES, 'created_by = $2', '$2::uuid is not null'),
  replacing(ROLES, 'r.user_id = $2', '$2::uuid is not null'),
  replacing(ROLES, "bool_or(via = 'lead')", 'true'),
];

function run(command: string, args: string[], cwd: string, environment: Record<string, string> = {}) {
  return spawnSync(command, args, { cwd, encoding: 'utf8', env: { ...process.env, ...environment } });
}

/** Runs the oracle's test. @returns the failure, or undefined if the test passed */
function oracle(checkout: string): string | undefined {
  const args = ['run', '--project', 'tests', 'services/tool-gateway/test/visibility-oracle.test.ts'];
  const { status, stdout, stderr } = run(join(checkout, 'node_modules/.bin/vitest'), args, checkout, {
    CRS_TEST_UNWALLED: '1',
    NO_COLOR: '1',
  });
  if (status === 0) return undefined;
  return /AssertionError: .*/.exec(stdout + stderr)?.[0].slice(0, 120) ?? `no assertion: ${(stdout + stderr).slice(-300)}`;
}

const checkout = mkdtempSync(join(tmpdir(), 'crs-mutations-'));
let survived = 0;
try {
  run('git', ['worktree', 'add', '--detach', '--force', checkout, 'HEAD'], ROOT);
  run(join(checkout, 'deploy/local/pnpm/pnpm'), ['install', '--frozen-lockfile', '--prefer-offline'], checkout);
  const unmutated = oracle(checkout);
  if (unmutated !== undefined) throw new Error(`The test fails without a mutation: ${unmutated}`);
  console.log('passes without a mutation');
  const chosen = MUTATIONS.filter((each) => `${each.file} ${each.name}`.includes(options.only));
  for (const { file, name, mutate } of chosen) {
    const path = join(checkout, file);
    const source = readFileSync(path, 'utf8');
    writeFileSync(path, mutate(source));
    const failure = oracle(checkout);
    writeFileSync(path, source);
    const caught = failure?.startsWith('AssertionError') === true;
    if (!caught) survived++;
    console.log(
      `${caught ? 'caught  ' : 'SURVIVED'} ${file.replace(/.*\//, '')}: without ${name}\n         ${failure ?? 'the test passes'}`,
    );
  }
  console.log(`${survived} of ${chosen.length} survived`);
} finally {
  run('git', ['worktree', 'remove', '--force', checkout], ROOT);
  rmSync(checkout, { recursive: true, force: true });
}
process.exitCode = survived > 0 ? 1 : 0;
