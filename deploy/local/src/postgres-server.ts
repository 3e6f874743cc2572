import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@crs/kit/process/log';
import type { Account, PostgresBinaries } from './postgres-binaries.ts';

export interface Server {
  port: number;
  pid: number;
  /** Stops the server cleanly. After 8 s, kills it; its next start then recovers. */
  stop(): Promise<void>;
}

interface ServerOptions extends PostgresBinaries {
  /** PostgreSQL's data directory. */
  directory: string;
  /** PostgreSQL's settings by name. */
  settings: Record<string, string>;
  /** File for PostgreSQL's log. Emptied at start if it is larger than 16 MiB. */
  logFile: string;
  log: Logger;
  /** Further environment variables of PostgreSQL. */
  env?: Record<string, string> | undefined;
  /** Called when the server ends without `stop`. */
  onLost?: (() => void) | undefined;
}

/** Signals, and the milliseconds to wait after each. After SIGQUIT, which skips the shutdown checkpoint, the next start recovers. */
const STOP_STEPS: [NodeJS.Signals, number][] = [
  ['SIGINT', 8_000],
  ['SIGQUIT', 1_500],
];
const RECOVERY_MS = 300_000;
const ATTEMPTS = 5;
/** PostgreSQL's reason not to start while processes of a killed server are still running. On a busy machine, they take long to notice its end. */
const STILL_RUNNING = 'pre-existing shared memory block';
const STILL_RUNNING_MS = 60_000;

/**
 * Starts PostgreSQL on 127.0.0.1 and waits until it accepts connections, which may take minutes after a crash. When this process ends for any
 * reason, PostgreSQL is stopped too.
 * @throws Error with the last lines of PostgreSQL's log
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const until = Date.now() + RECOVERY_MS;
  const waitUntil = Date.now() + STILL_RUNNING_MS;
  for (let failures = 0; ;) {
    const logStart = startLog(options.logFile);
    const server = await tryToStart(options, until);
    if (server) return server;
    const reason = readFileSync(options.logFile, 'utf8').slice(logStart).trim().slice(-1_500);
    const isWaiting = reason.includes(STILL_RUNNING) && Date.now() < waitUntil;
    // Any other failure may be temporary too: another process may just have taken the port.
    if (!isWaiting) failures++;
    if (failures === ATTEMPTS || Date.now() >= until) {
      throw new Error(`PostgreSQL doesn't start; the end of ${options.logFile} has the reason:\n${reason}`);
    }
    await delay(isWaiting ? 200 : 50 * 2 ** failures);
  }
}

/** @returns undefined if PostgreSQL ended, or wasn't ready in time */
async function tryToStart(options: ServerOptions, until: number): Promise<Server | undefined> {
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
  return undefined;
}

/**
 * Stops the server that an earlier, killed process left running in a directory, if any. The caller must hold the directory's lock, so that no other
 * process uses that server.
 */
export async function stopOrphan(directory: string, log: Logger): Promise<void> {
  const orphan = readPidFile(directory);
  if (!orphan || !isAlive(orphan.pid)) return;
  if (!isServerOf(orphan.pid, directory)) {
    // Another program has this pid by now. PostgreSQL would mistake it for a running server and refuse to start.
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

/** Sends a server the signals of STOP_STEPS until it exits. @returns whether it exited */
async function end(pid: number, ended: () => boolean): Promise<boolean> {
  for (const [signal, timeoutMs] of STOP_STEPS) {
    if (ended()) return true;
    try {
      process.kill(pid, signal);
    } catch (error) {
      // The server exited just before the signal was sent.
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true;
      throw error;
    }
    const until = Date.now() + timeoutMs;
    while (!ended() && Date.now() < until) await delay(15);
  }
  return ended();
}

function spawnServer({ bin, account, directory, settings, logFile, env }: ServerOptions, port: number): ChildProcess {
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
        env: { PATH: process.env['PATH'], LC_ALL: 'C', ...env },
        stdio: ['ignore', output, output],
        // In a session of its own, so that a Ctrl-C in the terminal doesn't reach it: it must stop after the services that use it.
        detached: true,
      },
    );
  } finally {
    closeSync(output);
  }
}

/** Starts a shell that stops the server when this process ends. The shell's pipe then closes, even after a kill -9. */
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

/** Reads the pid (line 1) and the state (line 8) from the server's pid file. Undefined if the file doesn't exist. */
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

/** Whether a process is the server of a directory, judged by its command line, which is empty for a zombie process. */
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

/** Returns a port that is free at the moment; another process may still take it. */
async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

/** Deletes a log that has grown too large. @returns the byte offset at which this start's log begins */
function startLog(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size < 16 * 1024 * 1024) return size;
  rmSync(file);
  return 0;
}
