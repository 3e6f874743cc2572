// Checks that no dependency can change what is published: jobs with permissions install and build nothing, and everything installed has a hash.
// Prints each fault; exit code 1 if there is one. Needs the main install's Node.js.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

type Permissions = string | Record<string, string>;
interface Workflow {
  permissions?: Permissions;
  jobs: Record<string, { permissions?: Permissions; steps?: { uses?: string; run?: string }[] }>;
}

const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' })
  .trim()
  .split('\n');
const faults: string[] = [];

/** The only scripts that a job with permissions may run. They use the programs of `equip` and those of the runner. */
const ACTIONS = /^actions\/(?:checkout|download-artifact)@[0-9a-f]{40}$/;
const SCRIPTS = ['receive', 'login', 'publish', 'verify', 'draft'].map((name) => `.ci/release/${name}`);
const INSTALLS =
  /\b(?:npx|corepack|pip|pipx|pnpm|yarn|helm|make|apt-get|curl|wget)\b|\bnpm (?:ci|i|install|exec|run)\b|\bgo (?:build|get|install|run)\b|\buv (?:pip|run|sync|tool)\b|\buvx\b|\bdocker build\b|\.ci\/tools\/|release\/(?:programs|image|pack|equip)\b|\.ts\b/;

/** Whether a job has a write permission, or can get an identity token. Without `permissions`, GitHub's default applies, which may include writing. */
const mayWrite = (permissions: Permissions | undefined) =>
  permissions === undefined ||
  (typeof permissions === 'string' ? permissions !== 'read-all' : Object.values(permissions).includes('write'));

for (const path of tracked.filter((each) => /^\.github\/workflows\/.*\.ya?ml$/.test(each))) {
  const workflow = parse(read(path)) as Workflow;
  for (const [name, job] of Object.entries(workflow.jobs)) {
    if (!mayWrite(job.permissions ?? workflow.permissions)) continue;
    if (!job.steps) faults.push(`${path}: the job ${name} has permissions but no steps of its own`);
    for (const { uses, run } of job.steps ?? []) {
      if (uses !== undefined && ACTIONS.test(uses)) continue;
      if (run !== undefined && SCRIPTS.includes(run.trim())) continue;
      faults.push(
        `${path}: the job ${name} has permissions, so it may only run ${SCRIPTS.join(', ')}, not: ${uses ?? run?.trim()}`,
      );
    }
  }
}
for (const path of [...SCRIPTS, '.ci/release/settings']) {
  for (const line of read(path).split('\n')) {
    if (!line.startsWith('#') && INSTALLS.test(line))
      faults.push(`${path}: runs in a job with permissions, so it must not: ${line.trim()}`);
  }
}

for (const path of tracked.filter((each) => /(?:^|\/)[\w-]*requirements[\w-]*\.txt$/.test(each))) {
  const lines = read(path).replaceAll('\\\n', ' ').split('\n');
  for (const line of lines) {
    if (/^\s*(?:#|$)/.test(line) || / --hash=sha256:[0-9a-f]{64}/.test(line)) continue;
    faults.push(`${path}: has no hash for ${line.trim()}`);
  }
}
for (const path of tracked.filter((each) => /^(?:\.ci|\.github|deploy)\//.test(each))) {
  for (const line of read(path).split('\n')) {
    if (/^\s*(?:#|\/\/|\*)/.test(line)) continue;
    if (/\bpip"? (?:install|download)\b/.test(line) && !/--require-hashes|--no-index/.test(line))
      faults.push(`${path}: installs without --require-hashes: ${line.trim()}`);
    if (/\bnpx -y pnpm\b/.test(line)) faults.push(`${path}: use deploy/local/pnpm/pnpm, which has a hash: ${line.trim()}`);
  }
}

for (const fault of faults) process.stdout.write(`${fault}\n`);
process.stdout.write(`Jobs with permissions install nothing, and everything installed has a hash: ${faults.length} faults.\n`);
process.exitCode = faults.length > 0 ? 1 : 0;
