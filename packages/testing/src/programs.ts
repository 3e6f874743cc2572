import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown, type Plugin } from 'rolldown';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const KEPT = join(ROOT, 'node_modules/.cache');
const PREFIX = 'crs-programs-';
const NAMES = ['rate-limit', 'auth', 'calls', 'projects', 'entities', 'api-gateway', 'tool-gateway', 'crs'] as const;
export type ProgramName = (typeof NAMES)[number];

const sourceOf = (name: ProgramName) => join(ROOT, 'services', name, 'src/main.ts');
let bundled: Promise<string> | undefined;

/**
 * The file that runs a program. The tests of a whole run start some 200 processes, and two thirds of a start go into finding and loading a thousand modules, so
 * tests run each program as a bundle of a few files. Trials and benches run the sources, as production does.
 */
export async function programOf(name: ProgramName): Promise<string> {
  if (!process.env['VITEST']) return sourceOf(name);
  return join(await (bundled ??= bundle()), `${name}.mjs`);
}

/** @returns the directory of the bundles of the current sources; they are made if they aren't there */
async function bundle(): Promise<string> {
  const directory = join(KEPT, `${PREFIX}${keyOfSources()}`);
  if (existsSync(directory)) return directory;
  await mkdir(KEPT, { recursive: true });
  const earlier = (await readdir(KEPT)).filter((each) => each.startsWith(PREFIX));
  const unfinished = await mkdtemp(join(KEPT, 'unfinished-'));
  const input = Object.fromEntries(NAMES.map((name) => [name, sourceOf(name)]));
  // Nothing is left out, because a call that only shows whether it throws would go, too: no tree shaking, no minifying.
  const options = { platform: 'node', treeshake: false, logLevel: 'silent' } as const;
  const bundles = await rolldown({ input, ...options, plugins: [places] });
  await bundles.write({ dir: unfinished, minify: false, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' });
  await bundles.close();
  // Another worker may have been quicker.
  await rename(unfinished, directory).catch(() => rm(unfinished, { recursive: true }));
  for (const each of earlier) await rm(join(KEPT, each), { recursive: true, force: true });
  return directory;
}

/** Modules find the files beside them where their source is. */
const places: Plugin = {
  name: 'places',
  transform: {
    filter: { code: /\bimport\.meta\.|\b__dirname\b|\b__filename\b/ },
    handler: (code, id) =>
      code
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
        .replaceAll(/\b__dirname\b/g, JSON.stringify(dirname(id)))
        .replaceAll(/\b__filename\b/g, JSON.stringify(id)),
  },
};

function keyOfSources(): string {
  const own = globSync(['services/*/{src,migrations}/**/*.ts', 'packages/kit/src/**/*.ts', 'proto/gen/**/*.ts'], { cwd: ROOT });
  const hash = createHash('sha256');
  for (const file of ['pnpm-lock.yaml', 'packages/testing/src/programs.ts', ...own.toSorted()]) {
    hash.update(file).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest('hex').slice(0, 16);
}
