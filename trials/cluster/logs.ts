import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NAMESPACE } from './cluster.ts';

/** Writes the log of each pod of the namespace to its own file until `stop` is called, because a cluster deletes the logs of pods that have ended. */
export async function keepLogs(): Promise<{ directory: string; stop: () => void }> {
  const directory = await mkdtemp(join(tmpdir(), 'crs-logs-'));
  const followed = new Map<string, ChildProcess>();
  const kubectl = (args: string[]) =>
    spawn('kubectl', ['--namespace', NAMESPACE, ...args], { stdio: ['ignore', 'pipe', 'ignore'] }).on('error', () => undefined);
  const columns = 'custom-columns=NAME:.metadata.name,PHASE:.status.phase';
  const pods = kubectl(['get', 'pods', '--watch', '--no-headers', '--output', columns]);
  createInterface(pods.stdout).on('line', (line) => {
    const [name = '', phase] = line.split(/\s+/);
    if (phase !== 'Running' || followed.has(name)) return;
    const log = kubectl(['logs', '--follow', '--timestamps', name]);
    log.stdout.pipe(createWriteStream(join(directory, `${name}.log`)));
    followed.set(name, log);
  });
  const stop = () => [pods, ...followed.values()].forEach((child) => child.kill());
  return { directory, stop };
}
