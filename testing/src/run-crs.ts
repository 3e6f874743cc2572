import { Readable } from 'node:stream';
import { runCommand } from '@crs/crs/program';
import { vi } from 'vitest';
import { OPERATOR_CREDENTIAL } from './setup.ts';
import type { World } from './world.ts';

/** Runs a command of `crs` for a system, in this process: a process of its own takes a second to start. */
export async function runCrs({ stack: { addresses } }: World, args: string[], input = '', environment: object = {}) {
  const settings = {
    CRS_AUTH_ADMIN_ADDRESS: addresses.authAdmin,
    CRS_PROJECTS_ADMIN_ADDRESS: addresses.projectsAdmin,
    CRS_CALLS_ADMIN_ADDRESS: addresses.callsAdmin,
    CRS_ENTITIES_ADMIN_ADDRESS: addresses.entitiesAdmin,
    CRS_WEBHOOKS_ADMIN_ADDRESS: addresses.webhooksAdmin,
    CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL,
    ...environment,
  };
  const { exitCode } = process;
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  const stdin = vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from([Buffer.from(input)]) as typeof process.stdin);
  const [stdout, stderr] = [collect(process.stdout), collect(process.stderr)];
  process.exitCode = 0;
  try {
    await runCommand(args);
    return { stdout: stdout.text(), stderr: stderr.text(), status: process.exitCode };
  } finally {
    process.exitCode = exitCode;
    for (const spy of [stdin, stdout.spy, stderr.spy]) spy.mockRestore();
    vi.unstubAllEnvs();
  }
}

/** Captures what is written to a stream of this process. */
function collect(stream: NodeJS.WriteStream) {
  const chunks: Buffer[] = [];
  const spy = vi.spyOn(stream, 'write').mockImplementation((chunk: Uint8Array | string) => {
    chunks.push(Buffer.from(chunk));
    return true;
  });
  return { spy, text: () => Buffer.concat(chunks).toString() };
}
