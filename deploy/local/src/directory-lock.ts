import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The connections that hold a lock. A connection that is garbage-collected would release its lock, so this set refers to all of them. */
const held = new Set<DatabaseSync>();

/**
 * Locks an existing directory for this process, until `release` or the end of the process. The lock is one on an SQLite file, because Node.js has
 * no file locks. The kernel releases it even after a crash, so it is never stale.
 * @throws Error with the holder's pid, if another process has locked the directory; Error, if the lock file can't be opened
 */
export function lockDirectory(directory: string): { release(): void } {
  const pidFile = join(directory, 'pid');
  let database: DatabaseSync;
  try {
    // If two processes try at the same moment, SQLite may refuse both. With a timeout (in ms) it tries again, and one of them succeeds.
    database = new DatabaseSync(join(directory, 'lock'), { timeout: 500 });
  } catch (error) {
    throw new Error(`${directory} can't be opened for writing. Does it exist, and does it belong to your user?`, {
      cause: error,
    });
  }
  try {
    database.exec('pragma journal_mode = off; begin exclusive');
  } catch (error) {
    database.close();
    if (!(error instanceof Error && 'errcode' in error && error.errcode === 5)) throw error; // SQLITE_BUSY
    throw new Error(
      `${directory} is in use by process ${holderOf(pidFile)}: stop that one first, or choose another directory by CRS_DATA_DIR.`,
    );
  }
  held.add(database);
  writeFileSync(pidFile, `${process.pid}\n`);
  return {
    release: () => {
      if (held.delete(database)) database.close();
    },
  };
}

function holderOf(pidFile: string): string {
  try {
    return readFileSync(pidFile, 'utf8').trim();
  } catch {
    return '(unknown, it has probably just started)';
  }
}
