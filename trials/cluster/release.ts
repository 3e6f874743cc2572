/** Steps of the cluster trial that install, check, upgrade, roll back, disturb and uninstall the release. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crs, helm, kubectl, NAME, NAMESPACE, objects, RELEASE, run, SERVICES } from './cluster.ts';
import { encryptDatabase } from './database.ts';
import { say } from './report.ts';

/** The arguments of helm for an installation or upgrade, except for the image. */
export const VALUES = ['charts/call-research/examples/trial.yaml', 'trials/cluster/values.yaml', process.env['VALUES']].flatMap(
  (file) => (file === undefined ? [] : ['--values', file]),
);
export const IMAGE = process.env['IMAGE'] ?? 'call-research:test';
const NEXT_IMAGE = process.env['NEXT_IMAGE'] ?? IMAGE;
/** The arguments of helm for `charts/backends`. */
export const BACKENDS = [
  ...['--set', `postgres.image=${process.env['POSTGRES_IMAGE'] ?? 'postgres:18'}`],
  ...['--set', `redis.image=${process.env['REDIS_IMAGE'] ?? 'redis:8'}`],
];
/** Secrets that remain after an uninstallation, because the install Job creates them, not the release. */
const KEPT = [
  ...['auth', 'calls', 'entities', 'operator', 'projects', 'tool-gateway', 'webhooks', 'authority'],
  ...[...SERVICES, 'crs'].map((part) => `${part}-mtls`),
].map((name) => `${NAME}-${name}`);

export function image(name: string): string[] {
  const at = name.lastIndexOf(':');
  return ['--set', `image.repository=${name.slice(0, at)}`, '--set-string', `image.tag=${name.slice(at + 1)}`];
}

/** Creates a namespace under the restricted policy, without what is left of an earlier one. */
export async function createNamespace(namespace: string): Promise<void> {
  await run('kubectl', ['delete', 'namespace', namespace, '--ignore-not-found', '--wait'], { shown: true });
  await run('kubectl', ['create', 'namespace', namespace], { shown: true });
  await run('kubectl', ['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted'], { shown: true });
}

/** Packs the chart as for a release. @returns the file */
export async function packedChart(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'crs-chart-'));
  const output = await run('helm', ['package', 'charts/call-research', '--destination', folder]);
  return output.trim().split(': ')[1]!;
}

export async function install(): Promise<string> {
  await createNamespace(NAMESPACE);
  await helm(['install', 'backends', 'charts/backends', ...BACKENDS, '--wait', '--timeout', '5m'], { shown: true });
  await encryptDatabase();
  const chart = await packedChart();
  const begun = performance.now();
  await helm(['install', RELEASE, chart, ...VALUES, ...image(IMAGE), '--wait', '--timeout', '15m'], {
    shown: true,
  });
  return `the packed chart, all ready ${((performance.now() - begun) / 1000).toFixed(0)} s after helm install`;
}

/** Checks that the install Job succeeded and that its Secrets exist. */
export async function installLog(): Promise<string> {
  const log = await kubectl(['logs', `job/${NAME}-install`], { shown: true });
  const [job] = await objects('job', 'app.kubernetes.io/component=install');
  if (job?.status.succeeded !== 1) throw new Error(`The Job did not succeed: ${JSON.stringify(job?.status)}`);
  const secrets = (await objects('secret'))
    .map(({ metadata }) => metadata.name as string)
    .filter((name) => name.startsWith(NAME));
  const missing = KEPT.filter((name) => !secrets.includes(name));
  if (missing.length > 0) throw new Error(`These Secrets are missing: ${missing.join(', ')}`);
  return `${log.trim().split('\n').length} log lines, ${KEPT.length} Secrets`;
}

/** Runs the install Job again, by its CronJob: the accounts of the hooks no longer exist. */
export async function installAgain(): Promise<string> {
  await kubectl(['create', 'job', 'install-again', '--from', `cronjob/${NAME}-install`], { shown: true });
  try {
    await kubectl(['wait', 'job/install-again', '--for=condition=complete', '--timeout=5m']);
  } finally {
    say(await kubectl(['logs', 'job/install-again']));
    await kubectl(['delete', 'job', 'install-again']);
  }
  return 'complete';
}

/** Checks that no pod was rejected or restarted and that each service has two pods. */
export async function describePods(): Promise<string> {
  say(await kubectl(['get', 'pods', '--output', 'wide']));
  const refused = (await objects('event')).filter(
    ({ reason, message }) => reason === 'FailedCreate' && /PodSecurity/.test(message),
  );
  if (refused.length > 0) throw new Error(`Refused by the policy: ${refused[0].message}`);
  const pods = (await objects('pod')).filter(({ status }) => status.phase === 'Running');
  for (const service of SERVICES) {
    const ready = pods.filter(({ metadata }) => metadata.labels['app.kubernetes.io/component'] === service);
    if (ready.length !== 2) throw new Error(`${service} has ${ready.length} pods`);
  }
  const restarts = pods
    .flatMap(({ status }) => status.containerStatuses)
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  if (restarts > 0) throw new Error(`${restarts} restarts`);
  return `${pods.length} pods run, 0 restarts, 0 refused`;
}

export async function test(): Promise<string> {
  try {
    await helm(['test', RELEASE, '--timeout', '5m'], { shown: true });
  } finally {
    // Helm's --logs finds Pods only, not those of a Job.
    say(await kubectl(['logs', `job/${NAME}-test`]));
  }
  return (await kubectl(['logs', `job/${NAME}-test`, '--tail=1'])).trim();
}

/** Upgrades the release with a changed setting of every service, so that each pod is replaced. */
export function upgrade(): Promise<void> {
  return upgradeWith(['--set', 'defaults.logLevel=warn'], NEXT_IMAGE);
}

/** Upgrades the release with further arguments. */
export async function upgradeWith(args: string[], to = IMAGE): Promise<void> {
  const all = [...VALUES, ...image(to), ...args, '--wait', '--timeout', '30m'];
  await helm(['upgrade', RELEASE, await packedChart(), ...all], { shown: true });
}

/** Rolls back to the revision before the upgrade. */
export async function rollback(): Promise<void> {
  await helm(['rollback', RELEASE, '--wait', '--timeout', '30m'], { shown: true });
}

/** Deletes one pod of each service in turn, as draining a node does, and waits until the service has two pods again. */
export async function deletePods(): Promise<void> {
  for (const service of SERVICES) {
    const [pod] = await objects('pod', `app.kubernetes.io/component=${service}`);
    await kubectl(['delete', 'pod', pod.metadata.name], { shown: true });
    await kubectl(['rollout', 'status', `deployment/${NAME}-${service}`, '--timeout=5m']);
  }
}

/** Checks that `crs` still has its data, uninstalls the release, and checks that only the kept Secrets remain. */
export async function uninstall(): Promise<string> {
  const organizations = await crs<{ data: unknown[] }>(['org', 'list']);
  await helm(['uninstall', RELEASE, '--wait', '--timeout', '5m'], { shown: true });
  const kinds =
    'deployment,statefulset,service,configmap,networkpolicy,poddisruptionbudget,serviceaccount,role,rolebinding,cronjob,secret';
  const left = (await objects(kinds, `app.kubernetes.io/instance=${RELEASE}`)).map(
    ({ kind, metadata }) => `${kind}/${metadata.name}`,
  );
  say(`left: ${left.join(' ')}`);
  const surprises = left.filter((name) => !KEPT.includes(name.replace('Secret/', '')));
  if (surprises.length > 0) throw new Error(`These should have been deleted: ${surprises.join(', ')}`);
  return `${organizations.data.length} organizations to the end; ${left.length} Secrets left, as expected`;
}
