import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

export interface Checkout {
  path: string;
  remove(): Promise<void>;
}

/** Checks out HEAD into a temporary directory and installs its dependencies, so that mutations never touch the working tree. */
export async function createCheckout(): Promise<Checkout> {
  const path = await mkdtemp(join(tmpdir(), 'crs-mutants-'));
  const remove = async () => {
    await run('git', ['worktree', 'remove', '--force', path], { cwd: ROOT });
    await rm(path, { recursive: true, force: true });
  };
  await run('git', ['worktree', 'add', '--detach', path, 'HEAD'], { cwd: ROOT });
  try {
    // The program of the working tree: the checkout has none yet.
    await run(join(ROOT, 'deploy/local/pnpm/pnpm'), ['install', '--frozen-lockfile', '--prefer-offline'], { cwd: path });
    return { path, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
