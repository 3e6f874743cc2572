/** Takes the place of the user's browser for clients that start one: on Linux by `xdg-open`, or by a library that reads `BROWSER`. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Opener {
  /** The environment in which a client finds this opener. */
  env: Record<string, string>;
  /** The URL that a client has opened, if any. */
  openedUrl(): Promise<string | undefined>;
  /** Waits up to 30 s for the URL that a client opens, and forgets it. */
  nextUrl(): Promise<string>;
  close(): Promise<void>;
}

export async function createOpener(): Promise<Opener> {
  const folder = await mkdtemp(join(tmpdir(), 'crs-opener-'));
  const file = join(folder, 'url');
  const program = join(folder, 'xdg-open');
  await writeFile(program, `#!/bin/sh\nprintf '%s\\n' "$1" >'${file}'\n`);
  await chmod(program, 0o755);
  const openedUrl = async () => {
    const text = await readFile(file, 'utf8').catch(() => '');
    // Without its newline, the file is still being written.
    return text.endsWith('\n') ? text.trim() : undefined;
  };
  return {
    env: { PATH: `${folder}:${process.env['PATH']}`, BROWSER: program },
    openedUrl,
    nextUrl: async () => {
      for (let attempts = 0; attempts < 300; attempts++) {
        const url = await openedUrl();
        if (url !== undefined) {
          await rm(file);
          return url;
        }
        await sleep(100);
      }
      throw new Error('no client opened a browser within 30 s');
    },
    close: () => rm(folder, { recursive: true }),
  };
}
