import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Connections that hold a lock: referenced here, because one that is garbage-collected lets go of its lock. */
const held = new Set<DatabaseSync>();

/**
 * Takes a directory for this process, until `release` or the end of the process, whatever ends it: the lock is the kernel's (on an
 * SQLite file, Node.js having no file locks of its own), so it's never stale and needs no guess about a pid that may be reused.
 * @throws Error naming the pid that has it
 */
export function lockDirectory(directory: string): { release(): void } {
  const pidFile = join(directory, 'pid');
  let database: DatabaseSync;
  try {
    // Two that try at the same moment may both be refused at first; the timeout (ms) lets one of them win.
    database = new DatabaseSync(join(directory, 'lock'), { timeout: 500 });
  } catch (error) {
    throw new Error(`${directory} can't be written; does it belong to another user?`, { cause: error });
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
    return '(unknown: it has only just started)';
  }
}
