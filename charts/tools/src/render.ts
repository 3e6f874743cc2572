import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';

const CHARTS = fileURLToPath(new URL('../../', import.meta.url));

/** A Kubernetes object. */
// oxlint-disable-next-line typescript/no-explicit-any -- rendered YAML has no types; a test fails at a wrong path
export type Manifest = any;

export interface RenderOptions {
  chart?: string;
  release?: string;
  namespace?: string;
  /** Values files in the chart, such as `examples/trial.yaml`. */
  files?: string[];
  /** Values that override those of the files. */
  values?: object;
}

/** Objects by the arguments with which they were rendered: many tests of a file look at the same ones. */
const rendered = new Map<string, Promise<Manifest[]>>();

/**
 * Renders a chart by `helm template`, once for the same options. `HELM` names the program.
 * @returns the objects, in Helm's order, which tests must not change
 * @throws Error with Helm's message
 */
export function render(options: RenderOptions = {}): Promise<Manifest[]> {
  const key = JSON.stringify(options);
  if (!rendered.has(key)) rendered.set(key, runHelm(options));
  return rendered.get(key)!;
}

async function runHelm({
  chart = 'call-research',
  release = 'crs',
  namespace = 'research',
  files = [],
  values = {},
}: RenderOptions): Promise<Manifest[]> {
  const arguments_ = ['template', release, chart, '--namespace', namespace, '--kube-version', '1.34.0'];
  for (const file of files) arguments_.push('--values', `${chart}/${file}`);
  const run = promisify(execFile)(process.env['HELM'] ?? 'helm', [...arguments_, '--values', '-'], {
    cwd: CHARTS,
    maxBuffer: 64 * 1024 * 1024,
  });
  run.child.stdin?.end(JSON.stringify(values));
  const { stdout } = await run;
  return parseAllDocuments(stdout)
    .map((document): Manifest => {
      if (document.errors.length > 0) throw document.errors[0];
      return document.toJS();
    })
    .filter((manifest) => manifest !== null);
}

/** Finds the object with a kind and a name. */
export function find(manifests: Manifest[], kind: string, name: string): Manifest {
  const found = manifests.filter((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found.length !== 1) throw new Error(`${found.length} objects ${kind} ${name}`);
  return found[0];
}

export function ofKind(manifests: Manifest[], kind: string): Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

/** Lists each pod that the manifests would start, with the name of its owner. */
export function pods(manifests: Manifest[]): { name: string; kind: string; metadata: Manifest; spec: Manifest }[] {
  return manifests.flatMap((manifest) => {
    const { kind, metadata, spec } = manifest;
    const template: Manifest = kind === 'Pod' ? manifest : kind === 'CronJob' ? spec.jobTemplate.spec.template : spec?.template;
    return template?.spec?.containers ? [{ name: metadata.name, kind, metadata: template.metadata, spec: template.spec }] : [];
  });
}
