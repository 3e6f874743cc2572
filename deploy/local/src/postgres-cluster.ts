import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from '@crs/kit/process/log';
import { replaceFile } from './data-dir.ts';
import { SHARED_HOME, tryAs, type Account, type PostgresBinaries } from './postgres-binaries.ts';

/** A cluster's default collation: by bytes, or by a language's rules. Can't be changed after the cluster is created. */
export type Locale = 'C' | { icu: string };

export interface Cluster {
  /** PostgreSQL's data directory, which belongs to the account that runs PostgreSQL. */
  directory: string;
  /** The password of the superuser `postgres`; it has only letters, digits, - and _. */
  password: string;
}

interface ClusterOptions extends PostgresBinaries {
  /** Contains the cluster's password and, if possible, its data. The caller has locked this directory. */
  home: string;
  locale: Locale;
  /** Whether a new cluster is flushed to disk before its first use. */
  fsync: boolean;
  log: Logger;
}

/** Finds the cluster of a directory, or creates it. Doesn't start a server. If creation is interrupted, a later call starts afresh. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { home, account } = options;
  const base = await baseOf(options);
  for (const name of await readdir(base)) {
    // A removal fails while an earlier start's initdb still writes there. In that case the next start removes the directory.
    if (name.startsWith('new-'))
      await rm(join(base, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
  }
  const directory = join(base, 'cluster');
  const passwordFile = join(home, 'password');
  if (!existsSync(directory)) {
    await replaceFile(passwordFile, randomBytes(24).toString('base64url'));
    await createCluster(base, await readFile(passwordFile, 'utf8'), options);
  } else if (account.uid !== undefined && tryAs(account, 'cd "$1"', directory) !== undefined) {
    throw new Error(
      `User ${account.uid}, which runs PostgreSQL for root, can't reach ${directory}: move the directory back to its earlier place, or run this as an ordinary user.`,
    );
  }
  if (!existsSync(passwordFile))
    throw new Error(
      `${passwordFile} is gone, so nobody can log in to ${directory}: restore the file, or delete ${home} to start with an empty database.`,
    );
  return { directory, password: await readFile(passwordFile, 'utf8') };
}

/** Returns the parent directory of `cluster`: `home`, or a directory outside it if PostgreSQL's account can't access `home`. */
async function baseOf({ home, account, log }: ClusterOptions): Promise<string> {
  // The file `location` exists if the data is outside `home`, and contains its path.
  const pointer = join(home, 'location');
  if (existsSync(pointer)) {
    const base = (await readFile(pointer, 'utf8')).trim();
    if (!existsSync(base))
      throw new Error(
        `The data of ${home} was in ${base}, which no longer exists: restore that directory, or delete ${home} to start with an empty database.`,
      );
    log.info(
      { directory: base },
      `the database is kept outside ${home}, because the account that runs it can't reach that directory`,
    );
    return base;
  }
  if (existsSync(join(home, 'cluster')) || account.uid === undefined || tryAs(account, 'cd "$1"', home) === undefined)
    return home;
  await mkdir(SHARED_HOME, { recursive: true, mode: 0o755 });
  const base = await mkdtemp(join(SHARED_HOME, 'data-'));
  await give(base, account);
  await replaceFile(pointer, base);
  log.warn(
    { directory: base, recorded_in: pointer },
    `the database is kept outside ${home}, because the account that runs it can't reach that directory`,
  );
  return base;
}

/** Creates the cluster in a temporary directory, and moves it to `base` once it is complete. */
async function createCluster(base: string, password: string, { bin, account, locale, fsync }: ClusterOptions): Promise<void> {
  const temporary = await mkdtemp(join(base, 'new-'));
  const passwordFile = join(temporary, 'password');
  const unfinished = join(temporary, 'cluster');
  await writeFile(passwordFile, password, { mode: 0o600 });
  await give(passwordFile, account);
  await give(temporary, account);
  const provider = locale === 'C' ? [] : ['--locale-provider=icu', `--icu-locale=${locale.icu}`];
  const target = [`--pgdata=${unfinished}`, '--no-instructions', ...(fsync ? [] : ['--no-sync'])];
  const superuser = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  const text = ['--encoding=UTF8', '--locale=C', ...provider];
  try {
    await promisify(execFile)(join(bin, 'initdb'), [...target, ...superuser, ...text], {
      ...account,
      cwd: '/',
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    });
    await rename(unfinished, join(base, 'cluster'));
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new Error(`A PostgreSQL cluster can't be created in ${base}: ${stderr?.trim() || String(error)}`, { cause: error });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function give(path: string, { uid, gid }: Account): Promise<void> {
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
}
