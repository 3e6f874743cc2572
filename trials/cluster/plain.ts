/** Step of the cluster trial that installs plain manifests (`helm template | kubectl apply`) in a namespace of its own, and changes them. */
import { BACKENDS, createNamespace, image, IMAGE, packedChart } from './release.ts';
import { NAME, NAMESPACE, putSecret, RELEASE, run, SERVICES } from './cluster.ts';
import { changePassword, logStatements } from './passwords.ts';
import { say } from './report.ts';

const PLAIN = `${NAMESPACE}-plain`;
const ORGANIZATION = 'file-one';
const kubectl = (args: string[], input?: string) =>
  run('kubectl', ['--namespace', PLAIN, ...args], input === undefined ? {} : { input });

/**
 * Applies manifests, the same again, and with a change, and then changes a password. The first operator's credential is one that was made before the installation.
 */
export async function plainManifests(): Promise<string> {
  await createNamespace(PLAIN);
  await run('helm', ['install', 'backends', 'charts/backends', '--namespace', PLAIN, ...BACKENDS, '--wait', '--timeout', '5m']);
  await logStatements(PLAIN);
  const credential = await run('npm', ['run', '-s', 'crs', '--', 'operator', 'new-credential', 'first', '--json']);
  await putSecret(`${NAME}-operator`, { 'operator.json': credential }, PLAIN);
  const chart = await packedChart();
  const first = await render(chart, ['--set', 'tenants.organizations[0].rate_limit=300/60']);
  await apply(first);
  await showLimit(credential, '300');
  // kubectl always sends the selector of a PodDisruptionBudget, because its patch strategy is `replace`, and then says "configured".
  const changed = (await apply(first)).filter((line) => !/ unchanged$|^poddisruptionbudget\./.test(line));
  if (changed.length > 0) throw new Error(`changed without a change: ${changed.join(', ')}`);
  const change = ['--set', 'defaults.logLevel=warn', '--set', 'tenants.organizations[0].rate_limit=400/60'];
  const second = await apply(await render(chart, change));
  await showLimit(credential, '400');
  const count = (verb: string) => second.filter((line) => line.endsWith(` ${verb}`)).length;
  const searched = await changePassword(PLAIN);
  await run('kubectl', ['delete', 'namespace', PLAIN, '--wait=false']);
  return `${second.length} objects; again: nothing changed; with a change: ${count('configured')} configured, ${count('created')} Jobs created; ${searched}`;
}

function render(chart: string, args: string[]): Promise<string> {
  const values = [
    '--values',
    'charts/call-research/examples/trial.yaml',
    '--set',
    'install.hook=false',
    '--set',
    'webhooks.enabled=true',
    '--set',
    'defaults.resources.requests.cpu=50m',
  ];
  const tenant = ['--set', `tenants.organizations[0].id=${ORGANIZATION}`, '--set', 'tenants.organizations[0].name=One'];
  return run('helm', ['template', RELEASE, chart, '--namespace', PLAIN, ...values, ...tenant, ...image(IMAGE), ...args]);
}

/** Applies manifests, and waits for the Jobs and rollouts that they begin. @returns what kubectl says of each object */
async function apply(manifests: string): Promise<string[]> {
  const output = await kubectl(['apply', '--filename', '-'], manifests);
  say(output);
  await kubectl(['wait', '--for=condition=complete', 'job', '--all', '--timeout=10m']);
  for (const part of [...SERVICES, 'crs']) await kubectl(['rollout', 'status', `deployment/${NAME}-${part}`, '--timeout=5m']);
  return output.trim().split('\n');
}

async function showLimit(credential: string, expected: string): Promise<void> {
  const command = [
    'exec',
    '--stdin',
    `deploy/${NAME}-crs`,
    '--',
    'crs',
    '--operator',
    '-',
    'org',
    'show',
    ORGANIZATION,
    '--json',
  ];
  const output = await kubectl(command, credential);
  if (!output.includes(expected)) throw new Error(`the tenants Job did not set the limit ${expected}: ${output}`);
}
