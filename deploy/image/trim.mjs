// Removes files that no program reads from the installed dependencies, and pnpm's own state, which differs from install to install.
//   node trim.mjs DIRECTORY
import { readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';

const [root] = process.argv.slice(2);
/** Type declarations, source maps, and documents that are no licence. */
const UNREAD = /\.(?:[cm]?ts|map|flow|markdown|md)$/i;
const LICENCE = /^(?:licen[cs]e|copying|copyright|notice)/i;
/** The packages' command-line shims, and pnpm's record of the installation. */
const OF_PNPM = new Set(['.bin', '.modules.yaml', '.pnpm-workspace-state-v1.json', 'lock.yaml']);
/** The reference page needs only its bundle, and the entry point by which the bundle is found. */
const REFERENCE = '@scalar/api-reference/';
const OF_REFERENCE = /^(?:package\.json|LICENSE.*|dist\/index\.js|dist\/browser\/standalone\.js)$/;

function unread(path, name) {
  if (!path.includes('node_modules/')) return false;
  if (OF_PNPM.has(name) && /node_modules\/(?:\.pnpm\/)?[^/]+$/.test(path)) return true;
  const at = path.lastIndexOf(REFERENCE);
  if (at >= 0) return !OF_REFERENCE.test(path.slice(at + REFERENCE.length));
  return UNREAD.test(name) && !LICENCE.test(name);
}

function trim(directory) {
  let left = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (OF_PNPM.has(entry.name) || !entry.isDirectory()) {
      if (unread(relative(root, path), entry.name)) rmSync(path, { recursive: true });
      else left++;
    } else if (trim(path) === 0) rmSync(path, { recursive: true });
    else left++;
  }
  return left;
}

trim(root);
