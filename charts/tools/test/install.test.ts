import { beforeAll, describe, expect, test } from 'vitest';
import { find, ofKind, pods, render, type Manifest } from '../src/render.ts';

const NAME = 'crs-call-research';
const INSTALL = `${NAME}-install`;
const hookOf = (manifest: Manifest): string | undefined => manifest.metadata.annotations?.['helm.sh/hook'];
const weightOf = (manifest: Manifest) => Number(manifest.metadata.annotations['helm.sh/hook-weight']);

describe('the install Job', () => {
  let manifests: Manifest[];
  let job: Manifest;
  beforeAll(async () => {
    manifests = await render({
      files: ['examples/production.yaml'],
      values: { secretsAsFiles: false, webhooks: { enabled: true } },
    });
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
    const sources = [{ configMap: { name: 'database-ca', items: [{ key: 'ca.crt', path: '0.crt' }] } }];
    expect(spec.volumes).toEqual([{ name: 'trusted', projected: { defaultMode: 0o444, sources } }]);
  });

  test('gets the URL of each database server that hosts the schema of a single service', async () => {
    const apart = {
      calls: { existingSecret: 'calls-postgres', serviceUrl: 'postgres://pooler:6432/calls' },
      entities: { existingSecret: 'entities-postgres', key: 'URL' },
    };
    const installJob = find(
      await render({ files: ['examples/production.yaml'], values: { secretsAsFiles: false, database: { apart } } }),
      'Job',
      INSTALL,
    );
    const env = (installJob.spec.template.spec.containers[0].env as Manifest[]).filter(({ name }) =>
      /_(CALLS|ENTITIES|PROJECTS)$/.test(name),
    );
    const secret = (name: string, from: string, key: string) => ({ name, valueFrom: { secretKeyRef: { name: from, key } } });
    expect(env).toEqual([
      secret('MIGRATE_DATABASE_URL_CALLS', 'calls-postgres', 'DATABASE_URL'),
      secret('MIGRATE_DATABASE_URL_ENTITIES', 'entities-postgres', 'URL'),
      { name: 'CRS_SERVICE_DATABASE_URL_CALLS', value: 'postgres://pooler:6432/calls' },
    ]);
  });

  test('may create Secrets, read only those of the release, and change only those of certificates', () => {
    expect(find(manifests, 'Role', INSTALL).rules).toEqual([
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['auth', 'calls', 'projects', 'entities', 'webhooks', 'tool-gateway', 'operator'].map(
          (name) => `${NAME}-${name}`,
        ),
        verbs: ['get'],
      },
      { apiGroups: [''], resources: ['secrets'], resourceNames: expect.any(Array), verbs: ['get', 'patch'] },
    ]);
    const { roleRef, subjects } = find(manifests, 'RoleBinding', INSTALL);
    expect(roleRef.name).toBe(INSTALL);
    expect(subjects).toEqual([{ kind: 'ServiceAccount', name: INSTALL, namespace: 'research' }]);
  });

  test('may access exactly the Secrets of the release that pods use as variables or volumes', () => {
    const [, read, written] = find(manifests, 'Role', INSTALL).rules as Manifest[];
    // No pod uses the key of the certificate authority: it signs the certificates during the installation.
    const accessible = [...read.resourceNames, ...written.resourceNames].filter((name) => name !== `${NAME}-authority`);
    const referencedSecrets = pods(manifests).flatMap(({ spec }) => [
      ...(spec.containers[0].env ?? []).flatMap(({ valueFrom }: Manifest) => valueFrom?.secretKeyRef?.name ?? []),
      ...(spec.volumes ?? []).flatMap(({ secret }: Manifest) => secret?.secretName ?? []),
    ]);
    const ours = referencedSecrets.filter((name) => name.startsWith(NAME));
    expect(new Set(ours)).toEqual(new Set(accessible));
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

describe('access to the Kubernetes API', () => {
  const rolesOf = async (values: object) => {
    const manifests = await render({ files: ['examples/large.yaml'], values });
    return ofKind(manifests, 'Role').map(({ rules }) => (rules as Manifest[]).flatMap(({ verbs }) => verbs));
  };

  test('lacks `create` if install.createSecrets is false', async () => {
    expect(await rolesOf({})).toEqual([
      ['create', 'get'],
      ['create', 'get'],
    ]);
    expect(await rolesOf({ install: { createSecrets: false } })).toEqual([['get'], ['get']]);
    const values = { install: { createSecrets: false } };
    await expect(render({ files: ['examples/trial.yaml'], values })).rejects.toThrow('Set tls.mode to cert-manager');
  });

  test('is left to your Roles if install.rbac.create is false', async () => {
    const manifests = await render({ files: ['examples/trial.yaml'], values: { install: { rbac: { create: false } } } });
    expect(manifests.filter(({ apiVersion }) => apiVersion.startsWith('rbac.'))).toEqual([]);
    expect(ofKind(manifests, 'CronJob').map(({ metadata }) => metadata.name)).toContain(`${NAME}-tls-renewal`);
  });
});

describe('the install CronJob', () => {
  test('runs the pod of the Job again, under an account that outlives the hooks', async () => {
    const manifests = await render({ files: ['examples/production.yaml'] });
    const { spec } = find(manifests, 'CronJob', INSTALL);
    expect(spec).toMatchObject({ suspend: true, schedule: '0 0 30 2 *', concurrencyPolicy: 'Forbid' });
    const again = spec.jobTemplate.spec.template;
    const { template } = find(manifests, 'Job', INSTALL).spec;
    expect(again).toEqual({ ...template, spec: { ...template.spec, serviceAccountName: `${INSTALL}-again` } });
    const remaining = manifests.filter((manifest) => manifest.metadata.name === `${INSTALL}-again`);
    expect(remaining.map(({ kind }) => kind as string).toSorted()).toEqual([
      'NetworkPolicy',
      'Role',
      'RoleBinding',
      'ServiceAccount',
    ]);
    for (const manifest of remaining) expect(hookOf(manifest)).toBeUndefined();
    expect(find(manifests, 'Role', `${INSTALL}-again`).rules).toEqual(find(manifests, 'Role', INSTALL).rules);
    const { roleRef, subjects } = find(manifests, 'RoleBinding', `${INSTALL}-again`);
    expect([roleRef.name, subjects[0].name]).toEqual([`${INSTALL}-again`, `${INSTALL}-again`]);
  });

  test('shares the account of the Job in plain manifests', async () => {
    const manifests = await render({ files: ['examples/plain-manifests.yaml'] });
    const [job] = ofKind(manifests, 'Job');
    expect(find(manifests, 'CronJob', INSTALL).spec.jobTemplate.spec.template).toEqual(job.spec.template);
    expect(manifests.filter(({ metadata }) => metadata.name.includes('-again'))).toEqual([]);
  });
});

describe('the command-line tool crs', () => {
  const ADMIN = ['AUTH', 'CALLS', 'ENTITIES', 'PROJECTS'].map((service) => ({
    name: `CRS_${service}_ADMIN_ADDRESS`,
    value: `${NAME}-${service.toLowerCase()}:50052`,
  }));

  /** The operators' Secrets of the toolbox, of two CronJobs and of the Helm test. */
  const operatorSecrets = async (values: object) => {
    const jobs = { 'nightly-import': { args: ['import'], operatorSecret: 'importer' }, other: { args: ['status'] } };
    const manifests = await render({ files: ['examples/trial.yaml'], values: { jobs, ...values } });
    return ['crs', 'nightly-import', 'other', 'test'].map((part) => {
      const { spec } = pods(manifests).find(({ name }) => name === `${NAME}-${part}`)!;
      expect(spec.containers[0].env).toEqual(expect.arrayContaining(ADMIN));
      const { secret } = (spec.volumes as Manifest[]).find(({ name }) => name === 'operator');
      expect(secret).toMatchObject({ defaultMode: 0o440 });
      // The toolbox creates the operators of the other Secrets, and can start before its own exists.
      expect([part, secret.optional]).toEqual([part, part === 'crs' ? true : undefined]);
      return secret.secretName as string;
    });
  };

  test('has the credential of the first operator in the toolbox, in CronJobs and in the Helm test, unless values name another', async () => {
    const first = `${NAME}-operator`;
    expect(await operatorSecrets({})).toEqual([first, 'importer', first, first]);
    const toolbox = { operatorSecret: 'support' };
    expect(await operatorSecrets({ toolbox })).toEqual(['support', 'importer', 'support', first]);
    expect(await operatorSecrets({ test: { operatorSecret: 'tester' } })).toEqual([first, 'importer', first, 'tester']);
  });

  test('acts as a viewer in the toolbox and as an importer in the job of examples/production.yaml', async () => {
    const manifests = await render({ files: ['examples/production.yaml'] });
    const text = JSON.stringify(pods(manifests).filter(({ name }) => name !== `${NAME}-test`));
    expect(text).not.toContain(`${NAME}-operator`);
    expect(text).toContain('toolbox-operator');
    expect(text).toContain('nightly-import-operator');
  });

  test('has no pod by default', async () => {
    const manifests = await render({ files: ['examples/plain-manifests.yaml'] });
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
