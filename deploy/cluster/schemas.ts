// Writes the JSON schemas by which .ci checks rendered charts without a cluster, from what the cluster's API publishes of itself.
// Usage: source <(deploy/cluster/env); deploy/cluster/crds; node deploy/cluster/schemas.ts .ci/tools/schemas
// kubeconform finds them by `-strict -schema-location '.ci/tools/schemas/{{.ResourceKind}}{{.KindSuffix}}.json'`.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What our charts render, by the path of its API. */
const KINDS: Record<string, string[]> = {
  'api/v1': ['ConfigMap', 'Namespace', 'Pod', 'Secret', 'Service', 'ServiceAccount'],
  'apis/apps/v1': ['Deployment', 'StatefulSet'],
  'apis/autoscaling/v2': ['HorizontalPodAutoscaler'],
  'apis/batch/v1': ['CronJob', 'Job'],
  'apis/networking.k8s.io/v1': ['Ingress', 'NetworkPolicy'],
  'apis/policy/v1': ['PodDisruptionBudget'],
  'apis/rbac.authorization.k8s.io/v1': ['Role', 'RoleBinding'],
  'apis/gateway.networking.k8s.io/v1': ['HTTPRoute'],
  'apis/cert-manager.io/v1': ['Certificate'],
  'apis/monitoring.coreos.com/v1': ['PodMonitor', 'PrometheusRule'],
};

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Schema = { [key: string]: Json };
type Schemas = Record<string, Schema>;

const isObject = (value: Json | undefined): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const POINTER = '#/components/schemas/';

/** The schema in the dialect that validators know: closed objects, local references, no prose. */
function standard(schema: Schema): Schema {
  const { description: _prose, default: _default, nullable, ...rest } = schema;
  const result: Schema = {};
  for (const [key, value] of Object.entries(rest)) {
    if (key.startsWith('x-kubernetes-')) continue;
    if (key === 'properties' && isObject(value)) {
      result[key] = Object.fromEntries(Object.entries(value).map(([name, property]) => [name, standard(property as Schema)]));
    } else if (key === '$ref') result[key] = (value as string).replace(POINTER, '#/definitions/');
    else if (Array.isArray(value)) result[key] = value.map((item) => (isObject(item) ? standard(item) : item));
    else result[key] = isObject(value) ? standard(value) : value;
  }
  if (schema['x-kubernetes-int-or-string'] === true) return { type: ['integer', 'string'] };
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true || 'additionalProperties' in result;
  if ('properties' in result && !open) result['additionalProperties'] = false;
  // A reference among other things is written as `allOf` of one.
  if (Array.isArray(result['allOf']) && result['allOf'].length === 1) return result['allOf'][0] as Schema;
  // Manifests may write null for what they leave out.
  if (typeof result['type'] === 'string' && (nullable === true || 'properties' in result))
    result['type'] = [result['type'], 'null'];
  return result;
}

/** The names of a kind's schema and of all that it refers to. */
function reachable(name: string, all: Schemas, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const [reference] of JSON.stringify(all[name]).matchAll(/#\/components\/schemas\/[^"]+/g)) {
    reachable(reference.slice(POINTER.length), all, found);
  }
  return found;
}

function write(folder: string, path: string, kinds: string[]): void {
  const document = execFileSync('kubectl', ['get', '--raw', `/openapi/v3/${path}`], { encoding: 'utf8', maxBuffer: 1 << 28 });
  const all = (JSON.parse(document) as { components: { schemas: Schemas } }).components.schemas;
  const [version, group] = path.split('/').slice(1).reverse();
  for (const kind of kinds) {
    const found = Object.entries(all).find(
      ([, schema]) =>
        JSON.stringify(schema['x-kubernetes-group-version-kind'] ?? []).includes(`"kind":"${kind}"`) &&
        isObject(schema['properties']),
    );
    if (!found) throw new Error(`The API has no ${kind} at ${path}.`);
    const [name] = found;
    const definitions = Object.fromEntries([...reachable(name, all)].sort().map((part) => [part, standard(all[part]!)]));
    const root = definitions[name]!;
    root['required'] = ['apiVersion', 'kind', ...((root['required'] as string[] | undefined) ?? [])];
    Object.assign(root['properties'] as Schema, {
      apiVersion: { const: path.split('/').slice(1).join('/') },
      kind: { const: kind },
    });
    // Lower case, with the group's first label and the version: kubeconform's naming.
    const file = [kind, group?.split('.')[0], version].filter(Boolean).join('-').toLowerCase();
    const schema = { $schema: 'http://json-schema.org/draft-07/schema#', $ref: `#/definitions/${name}`, definitions };
    writeFileSync(join(folder, `${file}.json`), `${JSON.stringify(schema)}\n`);
  }
}

const folder = process.argv[2];
if (folder === undefined) throw new Error('Name the folder to write to.');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [path, kinds] of Object.entries(KINDS)) write(folder, path, kinds);
const { gitVersion } = JSON.parse(execFileSync('kubectl', ['get', '--raw', '/version'], { encoding: 'utf8' })) as {
  gitVersion: string;
};
writeFileSync(
  join(folder, 'README.md'),
  `JSON schemas of the kinds that our charts render, of Kubernetes ${gitVersion}, written by \`deploy/cluster/schemas.ts\`.\n`,
);
