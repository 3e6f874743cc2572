import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@crs/kit/process/log';
import type { Account, PostgresBinaries } from './postgres-binaries.ts';

export interface Server {
  /** On 127.0.0.1. */
  port: number;
  pid: number;
  /** Resolves when it ends without having been told to. */
  ended: Promise<void>;
  /** Ends it without loss of data, by force after 8 s. */
  stop(): Promise<void>;
}

interface ServerOptions extends PostgresBinaries {
  /** PostgreSQL's data directory. */
  directory: string;
  /** PostgreSQL's settings by name. */
  settings: Record<string, string>;
  /** File that gets PostgreSQL's own log; grows to about 16 MiB, then starts afresh. */
  logFile: string;
  log: Logger;
  /** A free one by default. */
  port?: number;
}

/** Each signal asks more firmly: end after the transactions' rollback; end now and recover at the next start. With the wait, in ms. */
const STOP_STEPS: [NodeJS.Signals, number][] = [
  ['SIGINT', 8_000],
  ['SIGQUIT', 1_500],
];
const RECOVERY_MS = 300_000;
const ATTEMPTS = 5;

/**
 * Starts PostgreSQL on 127.0.0.1 and waits until it takes connections, which after a crash may take a while. Whatever ends this process
 * ends PostgreSQL too.
 * @throws Error with the end of PostgreSQL's log
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const until = Date.now() + RECOVERY_MS;
  let logStart = 0;
  for (let attempt = 0; attempt < ATTEMPTS && Date.now() < until; attempt++) {
    // A failure may be a port that somebody else just took, or remains of a killed server that are still ending: try again.
    if (attempt > 0) await delay(50 * 2 ** attempt);
    logStart = startLog(options.logFile);
    const port = options.port ?? (await freePort());
    const child = spawnServer(options, port);
    const { pid } = child;
    if (pid === undefined) throw (await once(child, 'error'))[0];
    const watchdog = watch(pid, options.account);
    const ended = () => child.exitCode !== null || child.signalCode !== null;
    let stopping = false;
    const stop = async () => {
      stopping = true;
      if (!(await end(pid, ended))) child.kill('SIGKILL');
    };
    child.once('exit', () => watchdog.kill('SIGKILL'));
    while (!ended() && Date.now() < until) {
      const status = readPidFile(options.directory);
      if (status?.pid === pid && status.ready) {
        const byItself = Promise.withResolvers<void>();
        child.once('exit', () => {
          if (stopping) return;
          options.log.error({ log: options.logFile }, 'PostgreSQL ended by itself');
          byItself.resolve();
        });
        return { port, pid, ended: byItself.promise, stop };
      }
      await delay(15);
    }
    await stop();
  }
  const said = readFileSync(options.logFile, 'utf8').slice(logStart).trim().slice(-1_500);
  throw new Error(`PostgreSQL doesn't start; the end of ${options.logFile} says why:\n${said}`);
}

/**
 * Stops the server that an earlier, killed process left running on a directory, if there is one. The caller holds the lock of the
 * directory, so a server that runs belongs to nobody.
 */
export async function stopOrphan(directory: string, log: Logger): Promise<void> {
  const orphan = readPidFile(directory);
  if (!orphan || !isAlive(orphan.pid)) return;
  if (!isServerOf(orphan.pid, directory)) {
    // The pid is another program's by now. PostgreSQL would take that for a server and refuse to start.
    rmSync(join(directory, 'postmaster.pid'), { force: true });
    return;
  }
  log.info({ pid: orphan.pid }, 'stopping the PostgreSQL that a killed process left behind');
  if (!(await end(orphan.pid, () => !isServerOf(orphan.pid, directory)))) {
    throw new Error(`PostgreSQL process ${orphan.pid} still has ${directory} and doesn't stop: end it by hand and start again.`);
  }
}

/** Asks a server to end, ever more firmly. @returns whether it ended */
async function end(pid: number, ended: () => boolean): Promise<boolean> {
  for (const [signal, patienceMs] of STOP_STEPS) {
    if (ended()) return true;
    try {
      process.kill(pid, signal);
    } catch (error) {
      // It ended between the question and the signal.
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true;
      throw error;
    }
    const until = Date.now() + patienceMs;
    while (!ended() && Date.now() < until) await delay(15);
  }
  return ended();
}

function spawnServer({ bin, account, directory, settings, logFile }: ServerOptions, port: number): ChildProcess {
  const all = { ...settings, port: String(port), listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const output = openSync(logFile, 'a', 0o600);
  try {
    return spawn(
      join(bin, 'postgres'),
      ['-D', directory, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      {
        ...account,
        cwd: '/',
        // Nothing of our environment, which holds secrets.
        env: { PATH: process.env['PATH'], LC_ALL: 'C' },
        stdio: ['ignore', output, output],
        // A session of its own: a Ctrl-C in the terminal is for us, who then stop it after the services that use it.
        detached: true,
      },
    );
  } finally {
    closeSync(output);
  }
}

/** A shell that waits for the end of this process, by the pipe between the two, to stop the server: the one thing that outlives a kill -9. */
function watch(pid: number, account: Account): ChildProcess {
  const shell = spawn('/bin/sh', ['-c', 'read -r _; kill -INT "$1"', 'sh', String(pid)], {
    ...account,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
  return shell;
}

/** What the server says of itself: pid in the first line of its file, state in the eighth. Undefined if there is no such file. */
function readPidFile(directory: string): { pid: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(join(directory, 'postmaster.pid'), 'utf8').split('\n');
    return { pid: Number(lines[0]), ready: lines[7]?.trim() === 'ready' };
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether a process is the server of a directory, by its command line; one that has ended but wasn't yet reaped has none. */
function isServerOf(pid: number, directory: string): boolean {
  let command: string;
  try {
    command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    if (process.platform === 'linux') return false;
    command = spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout;
  }
  return command.includes(`postgres -D ${directory} `);
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

/** Empties an overgrown log. @returns where, in it, this start begins (bytes) */
function startLog(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size < 16 * 1024 * 1024) return size;
  rmSync(file);
  return 0;
}
