import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

/** The command lines of the programs for one client. Those of `examples/ingest` are there by their names. */
export interface Programs extends Partial<Record<string, string[]>> {
  /** See "Protocol of a runner" in README.md. */
  runner: string[];
  /** The examples. Their argument is the file or the URL of the copy. */
  sqlite: string[];
  postgres: string[];
}

/** The programs by language, from the file that `.ci/clients/run` writes. */
export const PROGRAMS = JSON.parse(readFileSync(process.env['CRS_CLIENT_PROGRAMS']!, 'utf8')) as Record<string, Programs>;

export interface ClientError {
  type: string;
  code: string | null;
  status: number | null;
  message: string;
  request_ids: string[];
  retry_after: number | null;
  details: object[];
}

export interface Outcome {
  // oxlint-disable-next-line typescript/no-explicit-any -- the tests read results of any shape
  result?: any;
  error?: ClientError;
}

/** Sends an action to a runner. @throws Error if the runner fails */
export async function act(command: string[], input: object): Promise<Outcome> {
  const output = await run(command, JSON.stringify(input));
  return JSON.parse(output) as Outcome;
}

/** Runs a program. @returns its standard output @throws Error if it exits with an error */
export async function run([program = '', ...args]: string[], input = '', env: Record<string, string> = {}): Promise<string> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: 'pipe' });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const exit = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${errors}`);
  return output;
}

/** A program that writes a line of JSON for each line of JSON that it reads. */
export interface Responder {
  /** @throws Error if the program ends without a response */
  // oxlint-disable-next-line typescript/no-explicit-any -- the tests read results of any shape
  request(input: object): Promise<any>;
  /** Ends the program's input, and waits until it exits. @throws Error if it fails */
  stop(): Promise<void>;
}

/** How long a program without input may take to exit. */
const EXIT_TIMEOUT_MS = 20_000;

/** Starts a program that writes a line of JSON for each line of JSON that it reads. Its standard error is that of this process. */
export function startResponder([program = '', ...args]: string[]): Responder {
  const name = `${program} ${args.join(' ')}`;
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {});
  const exit = once(child, 'exit');
  exit.catch(() => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    request: async (input) => {
      child.stdin.write(`${JSON.stringify(input)}\n`);
      const { done, value } = await lines.next();
      if (done) throw new Error(`${name} ended without a response`);
      return JSON.parse(value) as unknown;
    },
    stop: async () => {
      child.stdin.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), EXIT_TIMEOUT_MS);
      const [code, signal] = (await exit) as [number | null, NodeJS.Signals | null];
      clearTimeout(timer);
      if (code !== 0) throw new Error(`${name} ended with ${signal ?? code}`);
    },
  };
}
