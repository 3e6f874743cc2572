import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Processes } from '@crs/testing/processes';
import { INHERITED } from '@crs/testing/inherited';
import { programOf } from '@crs/testing/programs';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';

/** A command of `crs` that runs as a process. */
export interface Command {
  hasEnded: () => boolean;
  /** Ends it by SIGKILL. */
  kill(): Promise<void>;
  ended: Promise<{ status: number | null; stdout: string; stderr: string }>;
}

export function startCrs({ admin }: Processes, args: string[]): Command {
  const addresses = Object.entries(admin).map(([name, address]) => [`CRS_${name.toUpperCase()}_ADMIN_ADDRESS`, address]);
  const env = { ...INHERITED, ...Object.fromEntries(addresses), CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL };
  const child = spawn(process.execPath, [programOf('crs'), ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let hasEnded = false;
  const closed = once(child, 'close').then(([status]) => {
    hasEnded = true;
    return status as number | null;
  });
  const ended = Promise.all([closed, text(child.stdout), text(child.stderr)]);
  return {
    hasEnded: () => hasEnded,
    kill: async () => {
      child.kill('SIGKILL');
      await closed;
    },
    ended: ended.then(([status, stdout, stderr]) => ({ status, stdout, stderr })),
  };
}

/** Runs a command. @returns its standard output @throws Error if it fails */
export async function crs(processes: Processes, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await startCrs(processes, args).ended;
  if (status !== 0) throw new Error(`crs ${args.join(' ')} ended with ${status}: ${stderr}`);
  return stdout;
}
