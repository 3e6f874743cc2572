// Writes the rules and dashboards that the chart and deploy/compose.yaml use: node deploy/monitoring/src/generate.ts
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { database } from './dashboards/database.ts';
import { imports } from './dashboards/imports.ts';
import { limiter } from './dashboards/limiter.ts';
import { overview } from './dashboards/overview.ts';
import { service } from './dashboards/service.ts';
import { rules } from './rules.ts';

export const DASHBOARDS = [overview, service, limiter, database, imports];

/** A chart can read only its own files, so they are in the chart. */
export const OUTPUT = fileURLToPath(new URL('../../../charts/call-research/monitoring/', import.meta.url));

const HEAD = '# Rules of Prometheus: objectives and alerts. Written by deploy/monitoring/src/generate.ts.\n';

/** The content of each file, by path. */
export function generate(): Map<string, string> {
  const files = new Map([[`${OUTPUT}rules.yaml`, HEAD + stringify(rules(), { lineWidth: 0 })]]);
  for (const dashboard of DASHBOARDS) {
    files.set(`${OUTPUT}dashboards/${dashboard.uid}.json`, `${JSON.stringify(dashboard, null, 1)}\n`);
  }
  return files;
}

if (import.meta.main) {
  for (const [path, text] of generate()) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
