/** The programs that send the file: Benthos and syslog-ng, each with the configuration that users are given. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

const fileOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export interface Producer {
  /** Also the id of its organization. */
  name: string;
  /** Whether it stores records in the order of the file, whatever fails. */
  keepsOrder: boolean;
  /** Whether it ends by itself after the last line. */
  ends: boolean;
  /** @param directory for its own files */
  command: (programs: Programs, directory: string) => string[];
}

/** Paths of the programs. */
export interface Programs {
  benthos: string;
  syslogNg: string;
}

export const PRODUCERS: Producer[] = [
  {
    name: 'benthos',
    keepsOrder: true,
    ends: true,
    command: ({ benthos }) => [benthos, 'run', fileOf('examples/ingest/benthos.yaml')],
  },
  {
    name: 'http-client',
    keepsOrder: false,
    ends: true,
    command: ({ benthos }) => [benthos, 'run', fileOf('trials/records/http-client.yaml')],
  },
  {
    name: 'syslog-ng',
    keepsOrder: true,
    ends: false,
    command: ({ syslogNg }, directory) => {
      const own = ['-R', join(directory, 'persist'), '-c', join(directory, 'control'), '-p', join(directory, 'pid')];
      return [syslogNg, '-Fe', '--no-caps', '-f', fileOf('examples/ingest/syslog-ng.conf'), ...own];
    },
  },
];

/** A producer that runs. */
export interface Running {
  /** Resolves when the process ends. */
  ended: Promise<void>;
  isRunning(): boolean;
  signal(signal: NodeJS.Signals): void;
}

/** Starts a producer. Its log is appended to `log` in its directory. */
export function start(command: string[], directory: string, environment: Record<string, string>): Running {
  const [program, ...args] = command;
  const child: ChildProcess = spawn(program!, args, {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(join(directory, 'log'), { flags: 'a' });
  child.stdout!.pipe(log, { end: false });
  child.stderr!.pipe(log, { end: false });
  const stop = () => child.kill('SIGKILL');
  process.once('exit', stop);
  const ended = once(child, 'exit').then(() => void process.off('exit', stop));
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  return { ended, isRunning, signal: (signal) => void child.kill(signal) };
}
