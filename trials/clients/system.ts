/** A system of a trial's own, with the demo, for settings that the shared one doesn't have. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePorts } from '../../testing/src/ports.ts';

const MAIN = new URL('../..', import.meta.url).pathname;

export interface System {
  /** The MCP server. */
  url: string;
  /** The demo user. */
  user: { email: string; password: string };
  organization: string;
  /** The file that the services write their log to. */
  logFile: string;
  /** Runs the operator's tool, which may read `input`. @returns its JSON */
  crs<T>(args: string[], input?: string): Promise<T>;
  stop(): Promise<void>;
}

/** Starts `npm start` in a new folder. @param env further environment variables @throws Error with the end of its output if it doesn't start */
export async function startSystem(env: Record<string, string>): Promise<System> {
  const folder = await mkdtemp(join(tmpdir(), 'crs-system-'));
  const [port] = (await freePorts(1)).map(String);
  const settings = { ...process.env, ...env, CRS_DATA_DIR: folder, CRS_API_PORT: '0', CRS_TOOLS_PORT: port! };
  const child = spawn(process.execPath, ['deploy/local/src/main.ts', '--json'], {
    cwd: MAIN,
    env: settings,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), 'line'), exited])) as [unknown];
  assert(typeof line === 'string', `the system doesn't start:\n${output.slice(-2_000)}`);
  const { mcp, user, organization } = JSON.parse(line) as { mcp: string; organization: string; user: System['user'] };
  return {
    url: mcp,
    user,
    organization,
    logFile: join(folder, 'call-research.log'),
    crs: async <T>(args: string[], input = '') => {
      const run = promisify(execFile)(process.execPath, [`${MAIN}/services/crs/src/main.ts`, ...args, '--json'], {
        env: settings,
      });
      run.child.stdin!.end(input);
      return JSON.parse((await run).stdout) as T;
    },
    stop: async () => {
      child.kill();
      await exited;
      await rm(folder, { recursive: true });
    },
  };
}
