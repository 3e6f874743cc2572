import { helm, RELEASE } from './cluster.ts';
import { IMAGE, image, packedChart, VALUES } from './release.ts';
import { replacesAll } from './under-load.ts';

/** Of another version, or by default the same one. */
const NEXT_IMAGE = process.env['NEXT_IMAGE'] ?? IMAGE;

/** Upgrades the release under load, with a changed setting that every service reads, so that each pod is replaced. */
export async function upgrade(): Promise<string> {
  const chart = await packedChart();
  const change = ['--set', 'defaults.logLevel=warn'];
  const args = ['upgrade', RELEASE, chart, ...VALUES, ...image(NEXT_IMAGE), ...change, '--wait', '--timeout', '30m'];
  return replacesAll(() => helm(args, { shown: true }));
}

/** Goes back to the revision before the upgrade, under load. */
export async function rollback(): Promise<string> {
  return replacesAll(() => helm(['rollback', RELEASE, '--wait', '--timeout', '30m'], { shown: true }));
}
