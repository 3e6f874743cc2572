// Deletes all files of the installed dependencies except licences and those that a program of the image can load.
//   node trim.mjs DIRECTORY
// DIRECTORY contains our code and the dependencies. All of our modules count as loaded, because migrations are loaded by listing their directory.
import { globSync, lstatSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { nodeFileTrace } from '@vercel/nft';

const [root] = process.argv.slice(2);
const LICENCE = /^(?:licen[cs]e|copying|copyright|notice)/i;
const STORE = 'node_modules/.pnpm/';
/** Read as text by the API's reference page, so the tracer doesn't find it; located relative to the package's entry point. */
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
  // The package that a link points to is handled under its own path.
  if (lstatSync(join(root, folder.slice(0, -1))).isSymbolicLink()) continue;
  const isLoaded = [...fileList].some((path) => path.startsWith(folder) && path !== manifest);
  if (!isLoaded) rmSync(join(root, folder), { recursive: true });
  else trim(folder, (path, name) => path === manifest || fileList.has(path) || LICENCE.test(name));
}
// Deletes command-line shims, pnpm's own state, and links to packages that were deleted above.
const OF_PNPM = new Set(['.bin', '.modules.yaml', '.pnpm-workspace-state-v1.json', 'lock.yaml']);
trim('', (path, name) => !OF_PNPM.has(name) && statSync(join(root, path), { throwIfNoEntry: false }) !== undefined);

/** Deletes all files but those for which `keeps` returns true, and empty folders. @returns the number of entries that are left */
function trim(folder, keeps) {
  let left = 0;
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}${entry.name}`;
    const isFolder = entry.isDirectory() && entry.name !== '.bin';
    if (isFolder ? trim(`${path}/`, keeps) > 0 : keeps(path, entry.name)) left++;
    else rmSync(join(root, path), { recursive: true });
  }
  return left;
}
