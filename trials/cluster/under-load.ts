import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLoad as startClients, type Outcome } from '../faults/clients.ts';
import { requestsOf } from '../faults/requests.ts';
import { addressOf, kubectl, objects, SERVICES } from './cluster.ts';
import { keepLogs } from './logs.ts';
import { say } from './report.ts';
import { credentials, records, TOOLS_ORIGIN } from './tenant.ts';

const RATE = 20;
/** How long the load runs before and after a change. Long, because failures may appear late. */
const MARGIN_MS = 15_000;
/** After a change, the last old pods end within this time. */
const REPLACED_MS = 60_000;
/** Mean pause of a client between two requests. */
const PAUSE_MS = 300;

interface Summary {
  failed: number;
  /** A text with the numbers of requests and their milliseconds. */
  note: string;
}

/** Sends about {@link RATE} requests per second, to every route and tool, until it is stopped. Prints and counts each failure, without retries. */
async function startLoad(): Promise<{ stop: () => Promise<Summary> }> {
  const known = { ...(await credentials()), ...(await records()), toolsHost: new URL(TOOLS_ORIGIN).host };
  const addresses = {
    api: new URL(await addressOf('api-gateway')).host,
    tools: new URL(await addressOf('tool-gateway')).host,
  };
  const times: number[] = [];
  let failed = 0;
  const onOutcome = ({ request, status, served, wrong, took }: Outcome) => {
    times.push(took);
    if (served && wrong === undefined) return;
    failed += 1;
    say(`${new Date().toISOString()} ${request} failed after ${took.toFixed(0)} ms: ${status} ${wrong ?? ''}`);
  };
  const load = startClients({
    balancer: { order: (gateway) => [addresses[gateway]], stop: () => {} },
    requests: requestsOf({ ...known, onCreated: () => {} }),
    clients: Math.ceil((RATE * PAUSE_MS) / 1_000),
    pauseMs: PAUSE_MS,
    onOutcome,
  });
  return {
    stop: async () => {
      await load.stop();
      times.sort((a, b) => a - b);
      const at = (part: number) => (times[Math.floor(times.length * part)] ?? NaN).toFixed(0);
      const slowest = times.at(-1)?.toFixed(0);
      return {
        failed,
        note: `${times.length} requests, ${failed} failed; p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${slowest} ms`,
      };
    },
  };
}

/** Makes a change under load. @throws Error if the change or a request fails */
export async function underLoad(disrupt: () => Promise<void>): Promise<string> {
  const load = await startLoad();
  const logs = await keepLogs();
  let fault: unknown;
  try {
    await sleep(MARGIN_MS);
    await disrupt();
    await sleep(MARGIN_MS);
  } catch (error) {
    fault = error;
  }
  const { failed, note } = await load.stop();
  logs.stop();
  if (fault === undefined && failed === 0) {
    await rm(logs.directory, { recursive: true });
    return note;
  }
  const found = `${note}; the pods' logs: ${logs.directory}`;
  throw new Error(fault === undefined ? found : `${(fault as Error).message}; ${found}`, { cause: fault });
}

/** Makes a change under load that must replace every pod. */
export async function replacesAll(change: () => Promise<void>): Promise<string> {
  const before = await podNames();
  const note = await underLoad(async () => {
    await change();
    say(await kubectl(['top', 'pods']).catch(() => ''));
    // The gateways' pods end last, because they wait for clients with idle connections.
    const end = Date.now() + REPLACED_MS;
    while ((await podNames()).some((name) => before.includes(name))) {
      if (Date.now() > end) throw new Error(`not every pod is replaced within ${REPLACED_MS / 1_000} s`);
      await sleep(500);
    }
  });
  return `${before.length} pods replaced; ${note}`;
}

/** The names of the services' pods. */
async function podNames(): Promise<string[]> {
  const pods = await objects('pod', `app.kubernetes.io/component in (${SERVICES.join(',')})`);
  return pods.map(({ metadata }) => metadata.name as string);
}
