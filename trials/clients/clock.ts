/**
 * A clock that a trial moves, for the processes that get its environment. Uses libfaketime, because it moves the time of Node.js, PostgreSQL and the clients
 * alike, without a change to any of them. It reads the offset from a file whenever a process asks for the time, so one write moves all processes at once.
 * Only the time of day moves: timers, and the ages of cached values, follow the monotonic clock.
 */
import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Clock {
  env: Record<string, string>;
  /** Sets how far the processes are ahead of the real time. */
  setAhead(seconds: number): Promise<void>;
  close(): Promise<void>;
}

/** @param faketime path of the program `faketime`, which knows where its library is */
export async function createClock(faketime: string): Promise<Clock> {
  const library = execFileSync(faketime, ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD'], { encoding: 'utf8' }).trim();
  // Not in the folder for temporary files, which PostgreSQL's account may be unable to read.
  const file = join('/tmp', `crs-clock-${process.pid}`);
  const setAhead = (seconds: number) => writeFile(file, `+${seconds}\n`, { mode: 0o644 });
  await setAhead(0);
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    setAhead,
    close: () => rm(file),
  };
}
