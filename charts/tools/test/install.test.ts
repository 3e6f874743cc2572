import { beforeAll, describe, expect, test } from 'vitest';
import { find, pods, render, type Manifest } from '../src/render.ts';

const NAME = 'crs-call-research';
const INSTALL = `${NAME}-install`;
const hookOf = (manifest: Manifest): string | undefined => manifest.metadata.annotations?.['helm.sh/hook'];
const weightOf = (manifest: Manifest) => Number(manifest.metadata.annotations['helm.sh/hook-weight']);

describe('the install Job', () => {
  let manifests: Manifest[];
  let job: Manifest;
  beforeAll(async () => {
    manifests = await render({ files: ['examples/production.yaml'] });
    job = find(manifests, 'Job', INSTALL);
  });

  test('runs before each installation, upgrade and rollback, not on uninstallation, and is kept for its log', () => {
    expect(job.metadata.annotations).toEqual({
      'helm.sh/hook': 'pre-install,pre-upgrade,pre-rollback',
      'helm.sh/hook-weight': '0',
      'helm.sh/hook-delete-policy': 'before-hook-creation',
    });
  });

  test('depends only on earlier hooks and on objects named in values, not on other objects of the release', () => {
    const { spec } = job.spec.template;
    const before = manifests.filter(
      (manifest) => hookOf(manifest) === 'pre-install,pre-upgrade,pre-rollback' && weightOf(manifest) < weightOf(job),
    );
    expect(before.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()).toEqual(
      ['NetworkPolicy', 'Role', 'RoleBinding', 'ServiceAccount'].map((kind) => `${kind} ${INSTALL}`),
    );
    expect(spec.serviceAccountName).toBe(INSTALL);
    const container = spec.containers[0];
    expect(container.envFrom).toBeUndefined();
    const references = (container.env as Manifest[]).flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
    expect(references).toEqual([{ name: 'call-research-postgres', key: 'DATABASE_URL' }]);
    expect(spec.volumes).toEqual([{ name: 'trusted', configMap: { name: 'database-ca' } }]);
  });

  test('gets the URL of each database server that hosts the schema of a single service', async () => {
    const apart = {
      calls: { existingSecret: 'calls-postgres', serviceUrl: 'postgres://pooler:6432/calls' },
      entities: { existingSecret: 'entities-postgres', key: 'URL' },
    };
    const installJob = find(
      await render({ files: ['examples/production.yaml'], values: { database: { apart } } }),
      'Job',
      INSTALL,
    );
    const env = (installJob.spec.template.spec.containers[0].env as Manifest[]).filter(({ name }) =>
      /_(CALLS|ENTITIES|PROJECTS)$/.test(name),
    );
    const secret = (name: string, from: string, key: string) => ({ name, valueFrom: { secretKeyRef: { name: from, key } } });
    expect(env).toEqual([
      secret('MIGRATE_DATABASE_URL_CALLS', 'calls-postgres', 'DATABASE_URL'),
      { name: 'CRS_SERVICE_DATABASE_URL_CALLS', value: 'postgres://pooler:6432/calls' },
      secret('MIGRATE_DATABASE_URL_ENTITIES', 'entities-postgres', 'URL'),
    ]);
  });

  test('may create Secrets, read only those of the release, and change only those of certificates', () => {
    expect(find(manifests, 'Role', INSTALL).rules).toEqual([
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['auth', 'calls', 'projects', 'entities', 'tool-gateway', 'operator'].map((name) => `${NAME}-${name}`),
        verbs: ['get'],
      },
      { apiGroups: [''], resources: ['secrets'], resourceNames: expect.any(Array), verbs: ['get', 'patch'] },
    ]);
    const { roleRef, subjects } = find(manifests, 'RoleBinding', INSTALL);
    expect(roleRef.name).toBe(INSTALL);
    expect(subjects).toEqual([{ kind: 'ServiceAccount', name: INSTALL, namespace: 'research' }]);
  });

  test('may access exactly the Secrets of the release that pods use by envFrom or as volumes', () => {
    const [, read, written] = find(manifests, 'Role', INSTALL).rules as Manifest[];
    // No pod uses the key of the certificate authority: it signs the certificates during the installation.
    const accessible = [...read.resourceNames, ...written.resourceNames].filter((name) => name !== `${NAME}-authority`);
    const referencedSecrets = pods(manifests).flatMap(({ spec }) => [
      ...(spec.containers[0].envFrom ?? []).flatMap(({ secretRef }: Manifest) => secretRef?.name ?? []),
      ...(spec.volumes ?? []).flatMap(({ secret }: Manifest) => secret?.secretName ?? []),
    ]);
    expect(new Set(referencedSecrets)).toEqual(new Set(accessible));
  });

  test('gets the name prefix and the labels for the Secrets', () => {
    const env = Object.fromEntries(
      (job.spec.template.spec.containers[0].env as Manifest[]).map(({ name, value }) => [name, value]),
    );
    expect(env['CRS_SECRET_PREFIX']).toBe(NAME);
    expect(JSON.parse(env['CRS_SECRET_LABELS'])).toMatchObject({ 'app.kubernetes.io/instance': 'crs' });
    expect(env).not.toHaveProperty('CRS_SERVICE_DATABASE_URL');
  });

  test('gets the database address for services if it differs from its own', async () => {
    const large = await render({ files: ['examples/large.yaml'] });
    expect(find(large, 'Job', INSTALL).spec.template.spec.containers[0].env).toContainEqual({
      name: 'CRS_SERVICE_DATABASE_URL',
      value: 'postgres://pgbouncer.databases:6432/research?sslmode=require',
    });
  });
});

describe('the command-line tool crs', () => {
  const ADMIN = ['AUTH', 'CALLS', 'ENTITIES', 'PROJECTS'].map((service) => ({
    name: `CRS_${service}_ADMIN_ADDRESS`,
    value: `${NAME}-${service.toLowerCase()}:50052`,
  }));

  test('gets the admin addresses and the operator credential in the toolbox pod, in each CronJob defined under `jobs` in the values, and in the Helm test', async () => {
    const manifests = await render({ files: ['examples/production.yaml'] });
    const operators = [`${NAME}-crs`, `${NAME}-nightly-import`, `${NAME}-test`];
    for (const { spec } of pods(manifests).filter(({ name }) => operators.includes(name))) {
      expect(spec.containers[0].env).toEqual(expect.arrayContaining(ADMIN));
      expect(spec.volumes).toContainEqual({ name: 'operator', secret: { secretName: `${NAME}-operator`, defaultMode: 0o440 } });
    }
  });

  test('has the operator Secret of `toolbox.operatorSecret` in the toolbox pod and in CronJobs without one of their own, not in the Helm test', async () => {
    const manifests = await render({
      files: ['examples/production.yaml'],
      values: {
        toolbox: { operatorSecret: 'support' },
        jobs: { 'nightly-import': { operatorSecret: 'importer' }, other: { args: ['status'] } },
      },
    });
    const secretOf = (wanted: string) =>
      pods(manifests)
        .find(({ name }) => name === wanted)!
        .spec.volumes.find(({ name }: { name: string }) => name === 'operator').secret.secretName;
    expect(['crs', 'nightly-import', 'other', 'test'].map((part) => secretOf(`${NAME}-${part}`))).toEqual([
      'support',
      'importer',
      'support',
      `${NAME}-operator`,
    ]);
  });

  test('has no pod if toolbox.enabled is false', async () => {
    const manifests = await render({ files: ['examples/trial.yaml'], values: { toolbox: { enabled: false } } });
    expect(() => find(manifests, 'Deployment', `${NAME}-crs`)).toThrow('0 objects');
  });

  test('runs a job on its schedule, with the given volumes', async () => {
    const { spec } = find(await render({ files: ['examples/production.yaml'] }), 'CronJob', `${NAME}-nightly-import`);
    expect(spec).toMatchObject({ schedule: '0 2 * * *', suspend: false, concurrencyPolicy: 'Forbid' });
    const [container] = spec.jobTemplate.spec.template.spec.containers;
    expect(container).toMatchObject({ command: ['/usr/local/bin/crs'], args: ['import', '/data/records.ndjson', '--json'] });
    expect(container.volumeMounts).toContainEqual({ name: 'data', mountPath: '/data', readOnly: true });
  });

  test('suspends a job without a schedule, so that it is only started by hand', async () => {
    const { spec } = find(await render({ files: ['ci/everything.yaml'] }), 'CronJob', 'crs-backfill');
    expect(spec.suspend).toBe(true);
  });
});
