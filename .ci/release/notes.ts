// Checks a release's versions, changelog and upgrade notes, and prints its release notes: its section of the changelog, then that of the upgrade notes.
//   node notes.ts [VERSION]      default: the next release, whose changes are under Unreleased
// Prints faults on standard error; exit code 1 if there is one.
import { readFileSync } from 'node:fs';
import { parser, type Release } from 'keep-a-changelog';
import { parse } from 'yaml';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const json = (path: string) => JSON.parse(read(path)) as { version: string };
const found = (path: string, pattern: RegExp) => pattern.exec(read(path))?.[1];
const wanted = process.argv[2] ?? '';
const faults: string[] = [];
const requireEqual = (what: string, ...values: (string | undefined)[]) => {
  if (values.includes(undefined) || new Set(values).size > 1) faults.push(`${what}: ${values.join(' | ')}`);
};

const chart = parse(read('charts/call-research/Chart.yaml')) as { version: string; appVersion: string };
const { version } = json('package.json');
requireEqual('the version of the installation', wanted || version, version, chart.version, chart.appVersion);
const client = json('clients/typescript/package.json').version;
requireEqual('the version of the TypeScript client', client, found('clients/typescript/src/version.ts', /VERSION = '(.*)'/));
if (!found('clients/python/pyproject.toml', /^version = "(.*)"$/m)) faults.push('the Python client has no version');

/** The kinds of Keep a Changelog 1.1.0. */
const KINDS = ['added', 'changed', 'deprecated', 'removed', 'fixed', 'security'];
const changelog = read('CHANGELOG.md');
/** Whether a text is a date that exists, such as `2026-12-31`. */
function isDay(text = ''): boolean {
  const date = new Date(/^\d{4}-\d\d-\d\d$/.test(text) ? text : NaN);
  return !Number.isNaN(date.valueOf()) && date.toISOString().startsWith(text);
}
for (const [, title] of changelog.matchAll(/^## (.*)$/gm)) {
  const [, day] = /^\[?\d+\.\d+\.\d+\]? - (.*)$/.exec(title!) ?? [];
  if (!isDay(day) && !/^\[?Unreleased\]?$/.test(title!)) faults.push(`CHANGELOG.md: "${title}" is not "VERSION - YYYY-MM-DD"`);
}
for (const [, kind] of changelog.matchAll(/^### (.*)$/gm)) {
  if (!KINDS.includes(kind!.toLowerCase())) faults.push(`CHANGELOG.md: ${kind} is not a kind of change`);
}

let releases: Release[] = [];
if (faults.length === 0) {
  try {
    ({ releases } = parser(changelog));
  } catch (cause) {
    faults.push(`CHANGELOG.md: ${(cause as Error).message}`);
  }
}
const released = releases.filter((each) => each.version !== undefined).map((each) => each.version!);
const order = released.toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }));
if (released.join() !== order.join()) faults.push(`CHANGELOG.md: the newest release isn't first: ${released.join(', ')}`);
const described = wanted ? releases.find((each) => each.version === wanted) : releases.find((each) => !each.version);
if (wanted && released[0] !== wanted) faults.push(`CHANGELOG.md: ${wanted} isn't the newest release`);
if (released.length > 0 && !wanted && released[0] !== version && !described) faults.push('CHANGELOG.md: no section Unreleased');
const changes = [...(described?.changes ?? [])].filter(([, list]) => list.length > 0);
if (described && changes.length === 0) faults.push(`CHANGELOG.md: ${wanted || 'Unreleased'} names no change`);

const upgrading = read('charts/call-research/UPGRADING.md');
/** Returns the upgrade notes of a version. */
const upgradeTo = (to: string) =>
  upgrading
    .split(/^## /m)
    .find((section) => section.startsWith(`${to}\n`))
    ?.slice(to.length)
    .trim();
for (const each of new Set([...released, version])) {
  if (!upgradeTo(each)) faults.push(`UPGRADING.md: no section "## ${each}" that says what to do, or that there is nothing to do`);
}

for (const fault of faults) process.stderr.write(`${fault}\n`);
process.exitCode = faults.length > 0 ? 1 : 0;
if (faults.length === 0) {
  for (const [kind, list] of changes) {
    process.stdout.write(`## ${kind[0]!.toUpperCase()}${kind.slice(1)}\n\n`);
    for (const { title, description } of list)
      process.stdout.write(`- ${[title, description].filter(Boolean).join('\n').replaceAll('\n', '\n  ')}\n`);
    process.stdout.write('\n');
  }
  process.stdout.write(`## Upgrade to ${version}\n\n${upgradeTo(version)}\n`);
}
