/** Access to the cluster under test: its names, and the commands kubectl, helm and `crs`. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { say } from './report.ts';

export const NAMESPACE = process.env['NAMESPACE'] ?? 'crs-scenario';
export const RELEASE = 'crs';
/** Prefix of the names of all objects of the release. */
export const NAME = 'crs-call-research';
/** The kubelet takes up to a minute and a half to update the files of pods. */
export const KUBELET_MS = 120_000;
const FORWARDED_TIMEOUT_MS = 60_000;
export const SERVICES = [
  'api-gateway',
  'tool-gateway',
  'auth',
  'calls',
  'projects',
  'entities',
  'webhooks',
  'rate-limit',
] as const;

interface Options {
  input?: string;
  env?: Record<string, string>;
  /** Prints the command and its output. */
  shown?: boolean;
}

/** Runs a command. @returns its standard output. @throws Error with its output if the exit code isn't 0 */
export async function run(command: string, args: string[], { input, env, shown = false }: Options = {}): Promise<string> {
  if (shown) say(`$ ${[command, ...args].join(' ')}`);
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  if (shown) {
    child.stdout.pipe(process.stdout, { end: false });
    child.stderr.pipe(process.stderr, { end: false });
  }
  const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  child.stdin.end(input);
  const [code, [stdout, stderr]] = await Promise.all([ended, output]);
  if (code !== 0)
    throw new Error(`${command} ${args.slice(0, 3).join(' ')} ended with ${code}: ${(stderr || stdout).trim().slice(-1000)}`);
  return stdout;
}

export function helm(args: string[], options?: Options): Promise<string> {
  return run('helm', [...args, '--namespace', NAMESPACE], options);
}

export function kubectl(args: string[], options?: Options): Promise<string> {
  return run('kubectl', ['--namespace', NAMESPACE, ...args], options);
}

interface ServiceObject {
  spec: {
    selector: Record<string, string>;
    ports: { name: string; port: number; targetPort: string | number; nodePort: number }[];
  };
}

/**
 * Returns the address by which this machine reaches a gateway: a NodePort on a node of the cluster. Creates a second Service for the same pods, so that the
 * chart's own Services remain unchanged.
 */
export async function addressOf(gateway: string): Promise<string> {
  const read = async (name: string) => JSON.parse(await kubectl(['get', 'service', name, '--output', 'json'])) as ServiceObject;
  const { selector, ports } = (await read(`${NAME}-${gateway}`)).spec;
  const name = `trial-${gateway}`;
  const spec = {
    type: 'NodePort',
    selector,
    ports: ports.map(({ name: port, port: number, targetPort }) => ({ name: port, port: number, targetPort })),
  };
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec };
  await kubectl(['apply', '--filename', '-'], { input: JSON.stringify(service) });
  const node = 'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}';
  const [address] = (await run('kubectl', ['get', 'nodes', '--output', node])).trim().split(' ');
  const origin = `http://${address}:${(await read(name)).spec.ports[0]!.nodePort}`;
  await untilForwarded(origin);
  return origin;
}

/** Waits for a response of any kind: kube-proxy forwards a new port after a moment. */
async function untilForwarded(origin: string): Promise<void> {
  const deadline = Date.now() + FORWARDED_TIMEOUT_MS;
  for (;;) {
    try {
      await (await fetch(origin)).body?.cancel();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(500);
    }
  }
}

/** Returns the objects of a kind, in the JSON of the Kubernetes API. */
// oxlint-disable-next-line typescript/no-explicit-any -- callers access any property
export async function objects(kind: string, selector = ''): Promise<any[]> {
  return JSON.parse(await kubectl(['get', kind, '--selector', selector, '--output', 'json'])).items;
}

/** Returns the values of a Secret by key. */
export async function readSecret(name: string, namespace = NAMESPACE): Promise<Record<string, string>> {
  const output = await run('kubectl', ['get', 'secret', name, '--output', 'json', '--namespace', namespace]);
  const { data } = JSON.parse(output) as { data: Record<string, string> };
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

/** Creates or replaces a Secret. */
export async function putSecret(name: string, stringData: Record<string, string>, namespace = NAMESPACE): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData });
  await kubectl(['apply', '--server-side', '--filename', '-', '--namespace', namespace], { input });
}

/** Runs `crs` in the cluster. @returns its JSON output */
export async function crs<T>(args: string[], input?: string): Promise<T> {
  const exec = ['exec', ...(input === undefined ? [] : ['--stdin']), `deploy/${NAME}-crs`, '--', 'crs', ...args, '--json'];
  return JSON.parse(await kubectl(exec, input === undefined ? {} : { input })) as T;
}
