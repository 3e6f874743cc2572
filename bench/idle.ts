// Measures the memory of an idle system, and how soon `npm start` is ready.
//
//   node bench/idle.ts [--seconds 60] [--rounds 5]
//
// Linux only. Prints the resident memory of each service in MiB, without file-backed pages, `--seconds` after its start and `--seconds` after 3,000 requests.
// Then prints, for each warm start of `npm start`, the seconds until it is ready and the memory of its single process. Goals: a service at most 90 MiB after
// its start, the single process at most 200 MiB, a warm start at most 3 s.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';
import { freePorts } from '@crs/testing/ports';
import { childrenOf } from '@crs/testing/proc';
import { measure } from './load.ts';
import { printFigure, readOptions, worst } from './report.ts';
import { bearer, createOrganization, EMAIL, startSystem, type System } from './system.ts';

const { seconds: pause, rounds } = readOptions({ seconds: 60, rounds: 5 });
const PAUSE_MS = pause * 1_000;
const REQUESTS = { requests: 1_500, concurrency: 8 };
const ROOT = fileURLToPath(new URL('..', import.meta.url));

await services();
await npmStart();

async function services(): Promise<void> {
  const system = await startSystem();
  try {
    await sleep(PAUSE_MS);
    await print('after the start', system);
    await work(system);
    await sleep(PAUSE_MS);
    await print('after requests', system);
  } finally {
    await system.stop();
  }
}

async function work(system: System): Promise<void> {
  const { key, token } = await createOrganization(system, 'bench', [
    { type: 'call', id: 'call_1', conducted_by: EMAIL, summary: 'What was said.' },
  ]);
  await measure(`${system.api}/v1/calls/call_1`, bearer(key), REQUESTS, system.pids);
  const body = JSON.stringify(toolCall('list_calls', {}));
  await measure(`http://${system.tools}/mcp`, { ...MCP_HEADERS, ...bearer(token) }, { ...REQUESTS, body }, system.pids);
}

async function print(when: string, { pids }: System): Promise<void> {
  const names = [...pids.keys()].filter((name) => name !== 'postgres' && name !== 'redis');
  const sizes = await Promise.all(names.map((name) => resident(pids.get(name)!)));
  const list = names.map((name, i) => `${name} ${sizes[i]!.toFixed(0)}`).join(', ');
  console.log(`${when}: ${list}; at most ${worst(sizes).toFixed(0)} MiB (90)`);
}

/** Measures the first start, which creates the database, and then warm starts. */
async function npmStart(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'crs-rest-'));
  const [api, tools] = await freePorts(2);
  const env = { ...process.env, CRS_DATA_DIR: directory, CRS_API_PORT: String(api), CRS_TOOLS_PORT: String(tools) };
  const times: number[] = [];
  const sizes: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const started = performance.now();
    const child = spawn('npm', ['start', '--silent', '--', '--json'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'ignore'] });
    await once(createInterface({ input: child.stdout }), 'line');
    const seconds = (performance.now() - started) / 1_000;
    await sleep(5_000);
    const size = await resident(serverOf(child));
    console.log(`${round === 0 ? 'first' : 'warm'} start: ready after ${seconds.toFixed(1)} s, ${size.toFixed(0)} MiB`);
    child.kill('SIGTERM');
    await once(child, 'exit');
    if (round === 0) continue;
    times.push(seconds);
    sizes.push(size);
  }
  printFigure('seconds of a warm start', times, { atMost: 3 });
  printFigure('MiB of the single process', sizes, { atMost: 200 });
  await rm(directory, { recursive: true, force: true });
}

/** Returns the id of the process that runs all services, among those that `npm` has started. */
function serverOf(npm: ChildProcess): number {
  const all = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(all)];
  const found = all(npm.pid!).findLast((pid) =>
    /deploy\/local\/src\/main\.ts/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')),
  );
  if (found === undefined) throw new Error('npm start has no process of the services');
  return found;
}

/** Returns the resident memory in MiB, without file-backed pages such as the code of Node.js, which all processes share. */
async function resident(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/RssAnon:\s+(\d+)/.exec(status)![1]) / 1024;
}
