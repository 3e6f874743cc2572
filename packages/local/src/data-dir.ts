import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The files of a local installation: its secrets, and what `crs` and people look up. Nobody else may read them. */
export class DataDir {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  async open(): Promise<void> {
    await mkdir(this.path, { recursive: true });
    // PostgreSQL runs under another account for root; it must come through, not look around.
    await chmod(this.path, 0o711);
  }

  file(name: string): string {
    return join(this.path, name);
  }

  async read<T>(name: string): Promise<T | undefined> {
    try {
      return JSON.parse(await readFile(this.file(name), 'utf8')) as T;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new Error(`${this.file(name)} can't be read; restore it, or delete the directory to start afresh`, { cause: error });
    }
  }

  /** Whole or not at all, whatever ends the process meanwhile. */
  async write(name: string, value: unknown): Promise<void> {
    const half = this.file(`.${name}.new`);
    await writeFile(half, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
    await rename(half, this.file(name));
  }

  async readOrCreate<T>(name: string, create: () => T): Promise<T> {
    const found = await this.read<T>(name);
    if (found !== undefined) return found;
    const created = create();
    await this.write(name, created);
    return created;
  }
}

export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}
