/** Runs the commands of a page in docs/ against a test system, as an operator would who copies them. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { INHERITED } from '@crs/testing/inherited';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { programOf } from '@crs/testing/programs';
import type { OwnWorld } from '@crs/testing/world';

export interface Page {
  /** The working directory of the commands. */
  folder: string;
  /**
   * Runs the one `sh` block of the page that contains a text.
   * @returns its output, by line
   * @throws Error if no block or several contain the text, or if a command fails
   */
  run(text: string, environment?: Record<string, string>): Promise<string[]>;
  /** Sets what `kubectl logs` prints. */
  saveLog(lines: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** For tests of commands: each is a process, which may take ten seconds to start on a busy machine. */
export const COMMANDS = { timeout: 300_000 };

/** Returns the programs that pages use and this machine lacks. */
export function missingTools(): string[] {
  return ['jq', 'psql', 'sha256sum', 'curl'].filter((tool) => spawnSync(tool, ['--version']).error);
}

/** Opens a page of docs/. In its commands, `crs` is an administrator of the system, and `kubectl` prints the saved log. */
export async function openPage(path: string, world: OwnWorld): Promise<Page> {
  const text = await readFile(new URL(`../../docs/${path}`, import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/^( *)```sh\n(.*?)^ *```/gms)].map(([, indent, block]) =>
    block!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
  const folder = await mkdtemp(join(tmpdir(), 'crs-page-'));
  const program = (name: string, script: string) => writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const { authAdmin, callsAdmin, projectsAdmin, entitiesAdmin } = world.stack.addresses;
  await program('kubectl', 'cat pod.log');
  await program(
    'crs',
    `export CRS_OPERATOR_CREDENTIAL=${OPERATOR_CREDENTIAL} CRS_AUTH_ADMIN_ADDRESS=${authAdmin} CRS_CALLS_ADMIN_ADDRESS=${callsAdmin} \\
     CRS_PROJECTS_ADMIN_ADDRESS=${projectsAdmin} CRS_ENTITIES_ADMIN_ADDRESS=${entitiesAdmin}
     exec ${process.execPath} ${programOf('crs')} "$@"`,
  );
  return {
    folder,
    async run(part, environment = {}) {
      const found = blocks.filter((block) => block.includes(part));
      if (found.length !== 1) throw new Error(`docs/${path} has ${found.length} blocks with: ${part}`);
      const env = {
        ...INHERITED,
        PATH: `${folder}:${process.env['PATH']}`,
        DATABASE_URL: world.databaseUrl,
        ...environment,
      };
      const { stdout } = await promisify(execFile)('sh', ['-ec', found[0]!], { env, cwd: folder });
      return stdout.split('\n').filter((line) => line !== '');
    },
    // A pod's log also has lines that aren't JSON.
    saveLog: (lines) => writeFile(join(folder, 'pod.log'), `(node:1) a warning of the runtime\n${lines.join('')}`),
    close: () => rm(folder, { recursive: true }),
  };
}
