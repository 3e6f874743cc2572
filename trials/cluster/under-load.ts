import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressOf, kubectl, objects, SERVICES } from './cluster.ts';
import type { Summary } from './load.ts';
import { keepLogs } from './logs.ts';
import { say } from './report.ts';
import { credentials, TOOLS_ORIGIN } from './tenant.ts';

export const RATE = 20;
/** There is load for so long before and after a change, because failures may show late. */
const MARGIN_MS = 15_000;

/** Sends load until it is stopped. */
export async function startLoad(rate: number): Promise<{ stop: () => Promise<Summary> }> {
  const { key, token } = await credentials();
  const env = {
    LOAD_API: await addressOf('api-gateway'),
    LOAD_TOOLS: await addressOf('tool-gateway'),
    LOAD_TOOLS_ORIGIN: TOOLS_ORIGIN,
    LOAD_KEY: key,
    LOAD_TOKEN: token,
  };
  const load = spawn(process.execPath, ['trials/cluster/load.ts', String(rate), '3600'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = text(load.stdout);
  return {
    stop: async () => {
      load.kill('SIGTERM');
      return JSON.parse(await output) as Summary;
    },
  };
}

/** Makes a change under load. @throws Error where the change or a request fails */
export async function underLoad(disrupt: () => Promise<void>, rate = RATE): Promise<string> {
  const load = await startLoad(rate);
  const logs = await keepLogs();
  let fault: unknown;
  try {
    await sleep(MARGIN_MS);
    await disrupt();
    await sleep(MARGIN_MS);
  } catch (error) {
    fault = error;
  }
  const summary = await load.stop();
  logs.stop();
  say(JSON.stringify(summary));
  const note = describe(summary);
  if (fault === undefined && summary.failed === 0) {
    await rm(logs.directory, { recursive: true });
    return note;
  }
  const found = `${note}; the pods' logs: ${logs.directory}`;
  throw new Error(fault === undefined ? found : `${(fault as Error).message}; ${found}`, { cause: fault });
}

export function describe({ requests, failed, p50, p99, slowest, seconds }: Summary): string {
  return `${requests} requests in ${seconds} s, ${failed} failed; p50 ${p50} ms, p99 ${p99} ms, slowest ${slowest} ms`;
}

/** Makes a change under load that must replace every pod. */
export async function replacesAll(change: () => Promise<unknown>): Promise<string> {
  const before = await podNames();
  const note = await underLoad(async () => {
    await change();
    say(await kubectl(['top', 'pods']).catch(() => ''));
    // The gateways' pods end last: they wait for clients that have not used their connections.
    const isReplaced = async () => !(await podNames()).some((name) => before.includes(name));
    await until('each pod is replaced', isReplaced, 60);
  });
  return `${before.length} pods replaced; ${note}`;
}

/** The names of the services' pods. */
async function podNames(): Promise<string[]> {
  const pods = await objects('pod', `app.kubernetes.io/component in (${SERVICES.join(',')})`);
  return pods.map(({ metadata }) => metadata.name as string);
}

/** Asks each half second until the answer is true. @throws Error with the name after that time */
export async function until(name: string, isTrue: () => Promise<boolean>, seconds = 120): Promise<void> {
  const end = Date.now() + seconds * 1000;
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error(`${name}: not within ${seconds} s`);
    await sleep(500);
  }
}
