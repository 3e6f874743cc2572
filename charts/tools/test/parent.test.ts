import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const CHART = fileURLToPath(new URL('../../call-research', import.meta.url));
let parent: string;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'crs-parent-'));
  await mkdir(join(parent, 'charts'));
  await cp(CHART, join(parent, 'charts/call-research'), { recursive: true });
  const dependency = { name: 'call-research', version: '0.1.0', condition: 'call-research.enabled' };
  await writeFile(
    join(parent, 'Chart.yaml'),
    JSON.stringify({ apiVersion: 'v2', name: 'parent', version: '1.0.0', dependencies: [dependency] }),
  );
});
afterAll(() => rm(parent, { recursive: true }));

/** Renders the parent chart, with the values of the trial and others for this chart. */
async function renderParent(values: string): Promise<string> {
  const file = join(parent, 'values.yaml');
  await writeFile(
    file,
    `call-research:
  publicUrls: { api: 'http://a.example', tools: 'http://b.example' }
  database: { existingSecret: postgres }
  redis: { existingSecret: redis }
${values}`,
  );
  const run = await promisify(execFile)(process.env['HELM'] ?? 'helm', ['template', 'crs', parent], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return run.stdout;
}

test("a parent chart enables this chart by its dependency's condition, and disables it", async () => {
  expect(await renderParent('  enabled: true')).toContain('kind: Deployment');
  expect(await renderParent('  enabled: false')).not.toContain('kind: Deployment');
});

test('a parent chart can share values by YAML anchors under keys that begin with x-', async () => {
  const rendered = await renderParent('  x-labels: &labels { team: research }\n  commonLabels: *labels');
  expect(rendered).toContain('team: research');
});

test('a parent chart is told about a value that does not exist', async () => {
  await expect(renderParent('  enable: true')).rejects.toThrow(/enable\b.* not allowed/);
});

test('a version with build metadata, as Flux appends the digest of an OCI chart, makes valid labels', async () => {
  const copy = join(parent, 'copy');
  await cp(CHART, copy, { recursive: true });
  const manifest = await readFile(join(copy, 'Chart.yaml'), 'utf8');
  await writeFile(join(copy, 'Chart.yaml'), manifest.replace(/^version: .*$/m, 'version: 0.1.0+f4b07a3193b2'));
  const values = join(CHART, 'examples/trial.yaml');
  const run = await promisify(execFile)(process.env['HELM'] ?? 'helm', ['template', 'crs', copy, '--values', values], {
    maxBuffer: 64 * 1024 * 1024,
  });
  expect(run.stdout).toContain('helm.sh/chart: call-research-0.1.0_f4b07a3193b2');
  expect(run.stdout).not.toContain('0.1.0+');
});
