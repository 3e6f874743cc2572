// Keeps, of the installed dependencies, the files that a program of the image can load, and licences.
//   node trim.mjs DIRECTORY
// DIRECTORY holds the code beside the dependencies. Each of its modules counts as loaded, because migrations are found by their folder.
import { globSync, lstatSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { nodeFileTrace } from '@vercel/nft';

const [root] = process.argv.slice(2);
const LICENCE = /^(?:licen[cs]e|copying|copyright|notice)/i;
const STORE = 'node_modules/.pnpm/';
/** The reference page reads the bundle as text, and finds it beside the entry point. */
const REFERENCE = '@scalar/api-reference/dist/{index.js,browser/standalone.js}';

const modules = globSync('{services/*,packages/*,proto,deploy/install}/{src,gen,migrations}/**/*.ts', { cwd: root });
const { fileList } = await nodeFileTrace(
  modules.map((path) => join(root, path)),
  {
    base: root,
    ts: true,
    readFile: async (path) => {
      if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return null;
      const text = readFileSync(path, 'utf8');
      return path.endsWith('.ts') ? stripTypeScriptTypes(text) : text;
    },
  },
);
for (const path of globSync(`${STORE}*/node_modules/${REFERENCE}`, { cwd: root })) fileList.add(path);

for (const manifest of globSync(`${STORE}*/node_modules/{*,@*/*}/package.json`, { cwd: root })) {
  const folder = manifest.slice(0, -'package.json'.length);
  // A link leads to a package that has its turn elsewhere.
  if (lstatSync(join(root, folder.slice(0, -1))).isSymbolicLink()) continue;
  const isLoaded = [...fileList].some((path) => path.startsWith(folder) && path !== manifest);
  if (!isLoaded) rmSync(join(root, folder), { recursive: true });
  else trim(folder, (path, name) => path === manifest || fileList.has(path) || LICENCE.test(name));
}
// The packages' command-line shims, pnpm's record of the installation, and links to packages that are gone.
const OF_PNPM = new Set(['.bin', '.modules.yaml', '.pnpm-workspace-state-v1.json', 'lock.yaml']);
trim('', (path, name) => !OF_PNPM.has(name) && statSync(join(root, path), { throwIfNoEntry: false }) !== undefined);

/** Removes the files that don't stay, and empty folders. @returns the number of entries that are left */
function trim(folder, stays) {
  let left = 0;
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}${entry.name}`;
    const isFolder = entry.isDirectory() && entry.name !== '.bin';
    if (isFolder ? trim(`${path}/`, stays) > 0 : stays(path, entry.name)) left++;
    else rmSync(join(root, path), { recursive: true });
  }
  return left;
}
