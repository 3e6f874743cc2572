/**
 * Runs a change of the cluster, such as an upgrade, while clients send requests to both gateways. The change fails if any request does; then the pods' logs are
 * kept for inspection.
 */
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLoad as startClients, type Outcome } from '../faults/clients.ts';
import { requestsOf } from '../faults/requests.ts';
import { addressOf, kubectl, objects, SERVICES } from './cluster.ts';
import { keepLogs } from './logs.ts';
import { say } from './report.ts';
import { credentials, records, TOOLS_ORIGIN } from './tenant.ts';

const REQUESTS_PER_S = 20;
/** How long the load runs before and after a change. Long, because failures may appear late. */
const MARGIN_MS = 15_000;
/** Maximum time from the end of a change until the last old pod has ended. */
const REPLACEMENT_TIMEOUT_MS = 60_000;
/** Mean pause of a client between two requests. Responses take little time beside it, so a client sends about one request per pause. */
const PAUSE_MS = 300;

interface Summary {
  failed: number;
  /** For people: the number of requests and failures, and the latencies. */
  note: string;
}

/** Sends about {@link REQUESTS_PER_S} requests per second, to every route and tool, until `stop` is called. Never retries; prints and counts each failure. */
async function startLoad(): Promise<{ requests: () => number; stop: () => Promise<Summary> }> {
  const tenant = { ...(await credentials()), ...(await records()), toolsHost: new URL(TOOLS_ORIGIN).host };
  const addresses = {
    api: new URL(await addressOf('api-gateway')).host,
    tools: new URL(await addressOf('tool-gateway')).host,
  };
  const latenciesMs: number[] = [];
  let failed = 0;
  const onOutcome = ({ request, status, served, wrong, took }: Outcome) => {
    latenciesMs.push(took);
    if (served && wrong === undefined) return;
    failed += 1;
    say(`${new Date().toISOString()} ${request} failed after ${took.toFixed(0)} ms: ${status} ${wrong ?? ''}`);
  };
  const load = startClients({
    // Each gateway has one address: its Service, which chooses the pod.
    balancer: { order: (gateway) => [addresses[gateway]], stop: () => {} },
    requests: requestsOf({ ...tenant, onCreated: () => {} }),
    clients: Math.ceil((REQUESTS_PER_S * PAUSE_MS) / 1_000),
    pauseMs: PAUSE_MS,
    onOutcome,
  });
  return {
    requests: () => latenciesMs.length,
    stop: async () => {
      await load.stop();
      latenciesMs.sort((a, b) => a - b);
      const quantile = (share: number) => (latenciesMs[Math.floor(latenciesMs.length * share)] ?? NaN).toFixed(0);
      const slowest = latenciesMs.at(-1)?.toFixed(0);
      return {
        failed,
        note: `${latenciesMs.length} requests, ${failed} failed; p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms, slowest ${slowest} ms`,
      };
    },
  };
}

/**
 * Runs a change under load.
 * @param minimum the number of requests until which the load goes on after the change
 * @returns the load's figures @throws Error if the change or any request fails
 */
export async function underLoad(change: () => Promise<void>, minimum = 0): Promise<string> {
  const load = await startLoad();
  const logs = await keepLogs();
  let changeError: unknown;
  try {
    await sleep(MARGIN_MS);
    await change();
    await sleep(MARGIN_MS);
    while (load.requests() < minimum) await sleep(1_000);
  } catch (error) {
    changeError = error;
  }
  const { failed, note } = await load.stop();
  logs.stop();
  if (changeError === undefined && failed === 0) {
    await rm(logs.directory, { recursive: true });
    return note;
  }
  const details = `${note}; the pods' logs: ${logs.directory}`;
  throw new Error(changeError === undefined ? details : `${(changeError as Error).message}; ${details}`, { cause: changeError });
}

/** Runs a change under load, and waits until it has replaced every pod. @throws Error if that takes too long, or as {@link underLoad} does */
export async function replacesAll(change: () => Promise<void>): Promise<string> {
  const before = await podNames();
  const note = await underLoad(async () => {
    await change();
    say(await kubectl(['top', 'pods']).catch(() => ''));
    // The gateways' pods end last, because they wait for clients with idle connections.
    const deadline = Date.now() + REPLACEMENT_TIMEOUT_MS;
    while ((await podNames()).some((name) => before.includes(name))) {
      if (Date.now() > deadline) throw new Error(`not every pod was replaced within ${REPLACEMENT_TIMEOUT_MS / 1_000} s`);
      await sleep(500);
    }
  });
  return `${before.length} pods replaced; ${note}`;
}

/** Returns the names of all pods of the services. */
async function podNames(): Promise<string[]> {
  const pods = await objects('pod', `app.kubernetes.io/component in (${SERVICES.join(',')})`);
  return pods.map(({ metadata }) => metadata.name as string);
}
