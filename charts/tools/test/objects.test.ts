// Checks that the objects in examples/objects fit the values of the examples. The gate validates them with the schemas of their kinds.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { find, ofKind, pods, render, type Manifest } from '../src/render.ts';

const NAME = 'crs-call-research';
const objects = async (name: string): Promise<Manifest[]> => {
  const file = new URL(`../../call-research/examples/objects/${name}.yaml`, import.meta.url);
  return parseAllDocuments(await readFile(file, 'utf8')).map((document) => document.toJS());
};

/** The names of the Secrets that pods use, as variables or volumes. */
const usedSecrets = (manifests: Manifest[]) =>
  new Set<string>(
    pods(manifests).flatMap(({ spec }) => [
      ...(spec.volumes ?? []).flatMap(({ secret, projected }: Manifest) => [
        ...(secret ? [secret.secretName as string] : []),
        ...(projected?.sources ?? []).flatMap((source: Manifest) => (source.secret?.name as string | undefined) ?? []),
      ]),
      ...spec.containers.flatMap(({ env = [] }: Manifest) =>
        (env as Manifest[]).flatMap(({ valueFrom }) => (valueFrom?.secretKeyRef?.name as string | undefined) ?? []),
      ),
    ]),
  );

test('the services connect to the Pooler of CloudNativePG, and trust the CA of its Cluster, which has the name of the Pooler', async () => {
  const own = await objects('cloudnative-pg');
  const manifests = await render({ files: ['examples/cloudnative-pg.yaml'] });
  const [cluster, pooler] = ['Cluster', 'Pooler'].map((kind) => ofKind(own, kind)[0]);
  expect(cluster.spec.certificates.serverAltDNSNames).toEqual([pooler.metadata.name]);
  const { env } = find(manifests, 'Job', `${NAME}-install`).spec.template.spec.containers[0];
  const { database } = cluster.spec.bootstrap.initdb;
  expect(env).toContainEqual({
    name: 'CRS_SERVICE_DATABASE_URL',
    value: `postgres://${pooler.metadata.name}:5432/${database}?sslmode=verify-full`,
  });
  expect(usedSecrets(manifests)).toContain(`${cluster.metadata.name}-ca`);
  for (const { spec } of pods(manifests).filter(({ name }) => name.endsWith('-calls')))
    expect(JSON.stringify(spec.volumes)).not.toContain('ca.key');
  const [role] = cluster.spec.managed.roles;
  expect(role).toMatchObject({ name: cluster.spec.bootstrap.initdb.owner, createrole: true });
  for (const { spec } of [...ofKind(own, 'Pooler'), ...ofKind(own, 'ScheduledBackup')])
    expect(spec.cluster.name).toBe(cluster.metadata.name);
  // At most as many connections as the pods may open, and no more to PostgreSQL than it allows.
  const { max_client_conn: clients, max_db_connections: connections } = pooler.spec.pgbouncer.parameters;
  expect(Number(clients)).toBeGreaterThanOrEqual(1000);
  expect(connections * pooler.spec.instances).toBeLessThan(Number(cluster.spec.postgresql.parameters.max_connections));
});

test('External Secrets create every Secret that pods use, except for certificates, and the install Job creates none', async () => {
  const manifests = await render({ files: ['examples/external-secrets.yaml'], values: { webhooks: { enabled: true } } });
  const own = await objects('external-secrets');
  const targets = own.map(({ spec }) => spec.target.name as string);
  const used = [...usedSecrets(manifests)].filter((name) => !name.endsWith('-tls'));
  // The toolbox is off, and the test uses the first operator.
  expect(new Set(targets)).toEqual(new Set(used));
  for (const { rules } of ofKind(manifests, 'Role')) expect(JSON.stringify(rules)).not.toContain('create');
  const { env } = find(manifests, 'Job', `${NAME}-install`).spec.template.spec.containers[0];
  expect(env).toContainEqual({ name: 'CRS_MANAGE_ROLES', value: 'false' });
});

test.each(['large', 'external-secrets'])('cert-manager has the issuer of examples/%s.yaml', async (example) => {
  const own = await objects('cert-manager');
  for (const { spec } of ofKind(await render({ files: [`examples/${example}.yaml`] }), 'Certificate'))
    expect(find(own, spec.issuerRef.kind, spec.issuerRef.name).spec.ca.secretName).toBe(
      find(own, 'Certificate', 'call-research-ca').spec.secretName,
    );
});

test('the HelmRelease of Flux has values that the chart accepts, and waits longer than the install Job may take', async () => {
  const { spec } = find(await objects('flux'), 'HelmRelease', 'crs');
  const job = find(await render({ values: spec.values, release: spec.releaseName }), 'Job', `${NAME}-install`);
  expect(Number.parseInt(spec.timeout, 10) * 60).toBeGreaterThan(job.spec.activeDeadlineSeconds);
});
