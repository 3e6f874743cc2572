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
  /** Ends the server without loss of data; after 8 s, by force. */
  stop(): Promise<void>;
}

interface ServerOptions extends PostgresBinaries {
  /** PostgreSQL's data directory. */
  directory: string;
  /** PostgreSQL's settings by name. */
  settings: Record<string, string>;
  /** The file of PostgreSQL's own log. At a start it is emptied if it is larger than 16 MiB. */
  logFile: string;
  log: Logger;
  /** Called when the server ends without `stop`. */
  onLost?: (() => void) | undefined;
}

/** Signals and the milliseconds to wait after each. SIGINT rolls transactions back and ends; SIGQUIT ends at once and recovers at the next start. */
const STOP_STEPS: [NodeJS.Signals, number][] = [
  ['SIGINT', 8_000],
  ['SIGQUIT', 1_500],
];
const RECOVERY_MS = 300_000;
const ATTEMPTS = 5;

/**
 * Starts PostgreSQL on 127.0.0.1 and waits until it accepts connections, which may take minutes after a crash. When this process ends for any
 * reason, PostgreSQL ends too.
 * @throws Error with the end of PostgreSQL's log
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const until = Date.now() + RECOVERY_MS;
  let logStart = 0;
  for (let attempt = 0; attempt < ATTEMPTS && Date.now() < until; attempt++) {
    // A start may fail because another process just took the port, or because a killed server is still ending. Both pass, so it is tried again.
    if (attempt > 0) await delay(50 * 2 ** attempt);
    logStart = startLog(options.logFile);
    const port = await freePort();
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
        child.once('exit', () => {
          if (stopping) return;
          options.log.error({ log: options.logFile }, 'PostgreSQL ended unexpectedly');
          options.onLost?.();
        });
        return { port, pid, stop };
      }
      await delay(15);
    }
    await stop();
  }
  const said = readFileSync(options.logFile, 'utf8').slice(logStart).trim().slice(-1_500);
  throw new Error(`PostgreSQL doesn't start; the end of ${options.logFile} says why:\n${said}`);
}

/**
 * Stops the server that an earlier, killed process left running in a directory, if there is one. The caller holds the lock of the directory, so no
 * other process uses that server.
 */
export async function stopOrphan(directory: string, log: Logger): Promise<void> {
  const orphan = readPidFile(directory);
  if (!orphan || !isAlive(orphan.pid)) return;
  if (!isServerOf(orphan.pid, directory)) {
    // Another program has the pid by now. PostgreSQL would take that program for a server and refuse to start.
    rmSync(join(directory, 'postmaster.pid'), { force: true });
    return;
  }
  log.info({ pid: orphan.pid }, 'stopping the PostgreSQL that a killed process left behind');
  if (!(await end(orphan.pid, () => !isServerOf(orphan.pid, directory)))) {
    throw new Error(
      `PostgreSQL process ${orphan.pid} still uses ${directory} and doesn't stop: end the process by hand and start again.`,
    );
  }
}

/** Ends a server by one signal after the other. @returns whether it ended */
async function end(pid: number, ended: () => boolean): Promise<boolean> {
  for (const [signal, timeoutMs] of STOP_STEPS) {
    if (ended()) return true;
    try {
      process.kill(pid, signal);
    } catch (error) {
      // The server ended just before the signal.
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true;
      throw error;
    }
    const until = Date.now() + timeoutMs;
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
        // The environment of this process isn't passed on, because it holds secrets.
        env: { PATH: process.env['PATH'], LC_ALL: 'C' },
        stdio: ['ignore', output, output],
        // PostgreSQL gets a session of its own, so that a Ctrl-C in the terminal doesn't reach it. It is stopped after the services that use it.
        detached: true,
      },
    );
  } finally {
    closeSync(output);
  }
}

/** Starts a shell that stops the server when this process ends. The shell notices the end by its pipe, so that works after a kill -9, too. */
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

/** Reads the pid (line 1) and the state (line 8) of the server's pid file; undefined where there is no file. */
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

/** Tells by the command line whether a process is the server of a directory. A process that has ended but wasn't reaped has no command line. */
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

/** A port on which nothing listens at this moment. */
async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

/** Deletes a log that has grown too large. @returns the offset in bytes at which the log of this start begins */
function startLog(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size < 16 * 1024 * 1024) return size;
  rmSync(file);
  return 0;
}
