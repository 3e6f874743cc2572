import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { text } from 'node:stream/consumers';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { randomSecret, type DataDir } from './data-dir.ts';

/** The demo organization's credentials, stored in `demo.json`. */
export interface Demo {
  api_key: string;
  /** Stores and deletes records. */
  ingest_key: string;
  organization: string;
  user: { email: string; password: string };
  /** The user's token for `/mcp`. */
  access_token: string;
}

const FILE = fileURLToPath(new URL('../demo/demo.ndjson', import.meta.url));
const CRS = fileURLToPath(new URL('../../../services/crs/src/main.ts', import.meta.url));
export const DEMO_ORGANIZATION = 'northwind-research';
const USER = 'dana@northwind.example';

/** Loads the demo organization with `crs`, as an operator would, unless an earlier start did so. @param signal aborts the load */
export async function loadDemo(dataDir: DataDir, signal: AbortSignal): Promise<Demo> {
  const done = await dataDir.read<Demo>('demo.json');
  if (done) return done;
  const crs = (args: string[], input?: AsyncIterable<string>) => runCrs(dataDir, args, signal, input);
  const password = randomSecret().slice(0, 16);
  await crs(['import', '-'], records(password));
  const createKey = async (...options: string[]) => {
    const { key } = (await crs(['key', 'create', '--org', DEMO_ORGANIZATION, ...options])) as { key: string };
    return key;
  };
  const keys = {
    api_key: await createKey('--label', 'demo'),
    ingest_key: await createKey('--label', 'demo records', '--rights', 'ingest,delete'),
  };
  const token = ['token', 'create', '--org', DEMO_ORGANIZATION, '--user', USER, '--expires-in', '365d'];
  const { access_token } = (await crs(token)) as { access_token: string };
  const demo: Demo = { ...keys, organization: DEMO_ORGANIZATION, user: { email: USER, password }, access_token };
  await dataDir.write('demo.json', demo);
  return demo;
}

/** The demo's records, with the demo user's password. */
async function* records(password: string): AsyncGenerator<string> {
  for await (const line of createInterface({ input: createReadStream(FILE) })) {
    const record = JSON.parse(line) as { type: string; email?: string };
    yield record.type === 'user' && record.email === USER ? `${JSON.stringify({ ...record, password })}\n` : `${line}\n`;
  }
}

async function runCrs(dataDir: DataDir, args: string[], signal: AbortSignal, input?: AsyncIterable<string>): Promise<unknown> {
  const child = spawn(process.execPath, [CRS, ...args, '--json'], {
    env: { ...process.env, CRS_DATA_DIR: dataDir.path },
    stdio: ['pipe', 'pipe', 'pipe'],
    signal,
  });
  const exit = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  // Keeps a rejection from being reported as unhandled before it is awaited below.
  exit.catch(() => {});
  child.stdin.on('error', () => {});
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  if (input) for await (const chunk of input) child.stdin.write(chunk);
  child.stdin.end();
  const [code, [stdout, stderr]] = await Promise.all([exit, output]);
  if (code !== 0) throw new Error(`the demo could not be loaded: crs ${args[0]} ended with ${code}: ${stderr || stdout}`);
  return JSON.parse(stdout);
}
