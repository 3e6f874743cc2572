import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Summary } from './load.ts';
import { renew, replaceAuthority } from './certificates.ts';
import { helm, kubectl, NAME, objects, RELEASE, SERVICES } from './cluster.ts';
import { image, VALUES } from './release.ts';
import { say } from './report.ts';
import { credentials, TOOLS_ORIGIN } from './tenant.ts';

const NEXT_IMAGE = process.env['NEXT_IMAGE'] ?? 'call-research:test-next';
const RATE = 20;
/** There is load for so long before and after a change, because failures may show late. */
const MARGIN_MS = 15_000;

/** Makes a change under load. @throws Error where a request fails */
async function underLoad(disrupt: () => Promise<void>): Promise<string> {
  const { key, token } = await credentials();
  const address = async (service: string) =>
    `http://${(await kubectl(['get', 'service', `${NAME}-${service}`, '--output', 'jsonpath={.spec.clusterIP}'])).trim()}`;
  const env = {
    LOAD_API: await address('api-gateway'),
    LOAD_TOOLS: await address('tool-gateway'),
    LOAD_TOOLS_ORIGIN: TOOLS_ORIGIN,
    LOAD_KEY: key,
    LOAD_TOKEN: token,
  };
  const load = spawn(process.execPath, ['trials/cluster/load.ts', String(RATE), '3600'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = text(load.stdout);
  try {
    await sleep(MARGIN_MS);
    await disrupt();
    await sleep(MARGIN_MS);
  } finally {
    load.kill('SIGTERM');
  }
  const summary = JSON.parse(await output) as Summary;
  say(JSON.stringify(summary));
  const { requests, failed, p50, p99, slowest, seconds } = summary;
  const note = `${requests} requests in ${seconds} s, ${failed} failed; p50 ${p50} ms, p99 ${p99} ms, slowest ${slowest} ms`;
  if (failed > 0) throw new Error(note);
  return note;
}

/** The names of the services' pods. */
async function podNames(): Promise<string[]> {
  const pods = await objects('pod', `app.kubernetes.io/component in (${SERVICES.join(',')})`);
  return pods.map(({ metadata }) => metadata.name as string);
}

/** Makes a change under load that must replace every pod. */
async function replacesAll(change: () => Promise<unknown>): Promise<string> {
  const before = await podNames();
  const note = await underLoad(async () => {
    await change();
    say(await kubectl(['top', 'pods']).catch(() => ''));
  });
  const stayed = (await podNames()).filter((name) => before.includes(name));
  if (stayed.length > 0) throw new Error(`These pods were not replaced: ${stayed.join(', ')}`);
  return `${before.length} pods replaced; ${note}`;
}

/** Upgrades to another image, with a setting that every service reads. */
export function upgrade(): Promise<string> {
  const change = ['--set', 'defaults.logLevel=warn'];
  return replacesAll(() =>
    helm(['upgrade', RELEASE, 'charts/call-research', ...VALUES, ...image(NEXT_IMAGE), ...change, '--wait', '--timeout', '30m'], {
      shown: true,
    }),
  );
}

export function rollback(): Promise<string> {
  return replacesAll(() => helm(['rollback', RELEASE, '--wait', '--timeout', '30m'], { shown: true }));
}

/** Deletes one pod of each service in turn, as draining a node does, and waits until the service has two pods again. */
export function deletePods(): Promise<string> {
  return underLoad(async () => {
    for (const service of SERVICES) {
      const [pod] = await objects('pod', `app.kubernetes.io/component=${service}`);
      await kubectl(['delete', 'pod', pod.metadata.name], { shown: true });
      await kubectl(['rollout', 'status', `deployment/${NAME}-${service}`, '--timeout=5m']);
    }
  });
}

/** Renews all certificates. */
export function renewCertificates(): Promise<string> {
  return underLoad(renew);
}

/** Replaces the authority of the certificates, in its three steps. */
export function changeAuthority(): Promise<string> {
  return underLoad(replaceAuthority);
}
