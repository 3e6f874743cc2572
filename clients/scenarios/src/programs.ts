import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';

/** Command lines of the programs that use one client. */
export interface Programs {
  /** See README.md. */
  runner: string[];
  /** The examples; they get the copy's file or address as their argument. */
  sqlite: string[];
  postgres: string[];
}

/** The programs by language. `.ci/clients/run` writes the file that `CRS_CLIENT_PROGRAMS` names. */
export const PROGRAMS = JSON.parse(readFileSync(process.env['CRS_CLIENT_PROGRAMS']!, 'utf8')) as Record<string, Programs>;

export interface ClientError {
  type: string;
  code: string | null;
  status: number | null;
  message: string;
  request_ids: string[];
  retry_after: number | null;
}

export interface Outcome {
  // oxlint-disable-next-line typescript/no-explicit-any -- results are looked into freely
  result?: any;
  error?: ClientError;
}

/** Runs a runner. @throws Error where the runner is broken */
export async function act(command: string[], input: object): Promise<Outcome> {
  const output = await run(command, JSON.stringify(input));
  return JSON.parse(output) as Outcome;
}

/** Runs a program. @returns its standard output @throws Error where it fails */
export async function run([program = '', ...args]: string[], input = '', env: Record<string, string> = {}): Promise<string> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: 'pipe' });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const exit = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${errors}`);
  return output;
}
