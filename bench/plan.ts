// Prints the plan of docs/scale.md: machines for so many organizations, calls and requests on Citus. It measures nothing: it computes from MEASURED, and
// each figure there names the command that measured it.
//
//   node bench/plan.ts [--organizations 10000] [--calls 1000000000] [--gigabytes 5000] [--requests 2000]
//
// --gigabytes: of rows, long texts and indexes, as `bench/storage.ts` counts them. --requests: a second, of all organizations, in the shares of MIX.
import { parseArgs } from 'node:util';

/** CPU milliseconds of a request by part. Of a worker: all workers together. */
type Cost = Record<'coordinator' | 'workers' | 'gateway' | 'calls' | 'auth' | 'limiter', number>;

const MEASURED = {
  /** `node bench/citus.ts COORDINATOR_URL`. */
  requests: {
    list: { coordinator: 1.8, workers: 1.69, gateway: 1.88, calls: 1.8, auth: 0.07, limiter: 0.53 },
    detail: { coordinator: 1, workers: 0.87, gateway: 1.32, calls: 1.07, auth: 0.05, limiter: 0.3 },
    changes: { coordinator: 1.9, workers: 1.62, gateway: 1.77, calls: 2.15, auth: 0.93, limiter: 0.47 },
  } satisfies Record<string, Cost>,
  /** `node bench/storage.ts`: bytes of a call's indexes, and of its row without long texts. */
  indexBytes: 480,
  rowBytes: 1_720,
  /** `node bench/import.ts --records 1000000`: calls a second by one import. */
  importedPerSecond: 4_850,
  /** docs/scale.md: `databaseConnections` and those of imports. */
  connectionsOfPod: 11,
};

/** How requests divide. */
const MIX: Record<keyof typeof MEASURED.requests, number> = { list: 0.35, detail: 0.6, changes: 0.05 };

/** Machines and margins that the plan assumes. */
const ASSUMED = {
  coresOfNode: 16,
  memoryOfNodeGb: 128,
  diskOfNodeGb: 2_000,
  /** The part of a machine that is used on a usual day. */
  used: 0.5,
  /** The part of calls whose rows are read often. */
  hot: 0.1,
  /** Cores of a pod, at half of which it works. */
  coresOfPod: 1,
  /** Megabytes a second of a base backup's restore. */
  restored: 300,
};

const { values } = parseArgs({
  options: {
    organizations: { type: 'string', default: '10000' },
    calls: { type: 'string', default: '1000000000' },
    gigabytes: { type: 'string', default: '5000' },
    requests: { type: 'string', default: '2000' },
  },
});
const [organizations, calls, gigabytes, requests] = [values.organizations, values.calls, values.gigabytes, values.requests].map(
  Number,
) as [number, number, number, number];

/** Cores that a part needs, with its margin. */
function coresOf(part: keyof Cost): number {
  const ms = Object.entries(MIX).reduce(
    (sum, [kind, share]) => sum + share * MEASURED.requests[kind as keyof typeof MIX][part],
    0,
  );
  return (requests * ms) / 1_000 / ASSUMED.used;
}

const memoryGb = (calls * (MEASURED.indexBytes + ASSUMED.hot * MEASURED.rowBytes)) / 1e9;
const needs: [string, number][] = [
  ['disk', gigabytes / ASSUMED.used / ASSUMED.diskOfNodeGb],
  ['memory for indexes and a tenth of the rows', memoryGb / (0.75 * ASSUMED.memoryOfNodeGb)],
  ['CPU', coresOf('workers') / ASSUMED.coresOfNode],
];
const workers = Math.max(...needs.map(([, machines]) => Math.ceil(machines)));
const pods = (part: keyof Cost) => Math.max(2, Math.ceil(coresOf(part) / ASSUMED.coresOfPod));
const clients = (pods('calls') + pods('auth') + 4) * MEASURED.connectionsOfPod;
/** Requests a second at which a coordinator uses that part of its cores. */
const limit = (requests * ASSUMED.coresOfNode) / coresOf('coordinator');

const whole = (value: number) => Math.round(value).toLocaleString('en');
const rows: [string, string][] = [
  ['calls of an organization, on average', whole(calls / organizations)],
  ['bytes of a call', whole((gigabytes * 1e9) / calls)],
  ...needs.map(([name, machines]): [string, string] => [`workers for ${name}`, machines.toFixed(1)]),
  [
    `workers of ${ASSUMED.coresOfNode} cores, ${ASSUMED.memoryOfNodeGb} GB of memory and ${ASSUMED.diskOfNodeGb} GB of disk`,
    String(workers),
  ],
  ['cores of the coordinator', coresOf('coordinator').toFixed(1)],
  [`requests a second that fill a coordinator of ${ASSUMED.coresOfNode} cores to ${100 * ASSUMED.used}%`, whole(limit)],
  ['pods of the gateway, calls, auth, rate-limit', [pods('gateway'), pods('calls'), pods('auth'), pods('limiter')].join(', ')],
  ['connections of the services to the coordinator', whole(clients)],
  ['connections of the coordinator to each worker, at most', whole(clients)],
  ['hours of one import of all calls', (calls / MEASURED.importedPerSecond / 3_600).toFixed(0)],
  ['minutes to restore a worker', (((gigabytes / workers) * 1_000) / ASSUMED.restored / 60).toFixed(0)],
];
const width = Math.max(...rows.map(([name]) => name.length));
for (const [name, value] of rows) console.log(`${name.padEnd(width)}  ${value}`);
