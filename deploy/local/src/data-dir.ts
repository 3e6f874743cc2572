import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The files of a local installation: its secrets, addresses and credentials. Only their owner can read them. */
export class DataDir {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  async open(): Promise<void> {
    await mkdir(this.path, { recursive: true });
    // If root runs this, PostgreSQL runs under another account, which must be able to traverse this directory but not list it.
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
      throw new Error(
        `${this.file(name)} can't be read; restore the file, or delete the directory to start with an empty installation`,
        { cause: error },
      );
    }
  }

  async write(name: string, value: unknown): Promise<void> {
    await replaceFile(this.file(name), `${JSON.stringify(value, null, 2)}\n`);
  }

  async readOrCreate<T>(name: string, create: () => T): Promise<T> {
    const found = await this.read<T>(name);
    if (found !== undefined) return found;
    const created = create();
    await this.write(name, created);
    return created;
  }
}

/** Replaces a file atomically. Only its owner can read it. */
export async function replaceFile(path: string, content: string): Promise<void> {
  const half = `${path}.new`;
  await rm(half, { force: true });
  await writeFile(half, content, { mode: 0o600 });
  await rename(half, path);
}

export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}
