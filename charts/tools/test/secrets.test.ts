import { expect, test } from 'vitest';
import { find, ofKind, pods, render, type Manifest } from '../src/render.ts';

const NAME = 'crs-call-research';
const TRIAL = ['examples/trial.yaml'];
/** A variable, the Secret that has its value, and the key there, if it isn't the variable's name. */
type Secret = [string, string, string?];
const SECRETS: Record<string, Secret[] | undefined> = {
  'api-gateway': undefined,
  'tool-gateway': [['CRS_SECRET', `${NAME}-tool-gateway`]],
  auth: [
    ['DATABASE_URL', `${NAME}-auth`],
    ['CRS_SECRET', `${NAME}-auth`],
  ],
  calls: [['DATABASE_URL', `${NAME}-calls`]],
  projects: [['DATABASE_URL', `${NAME}-projects`]],
  entities: [['DATABASE_URL', `${NAME}-entities`]],
  'rate-limit': [['REDIS_URL', 'backends-redis']],
};

test('a service gets its secrets by reference to keys of Secrets', async () => {
  const manifests = await render({ files: TRIAL });
  for (const [service, secrets] of Object.entries(SECRETS))
    expect([service, find(manifests, 'Deployment', `${NAME}-${service}`).spec.template.spec.containers[0].env]).toEqual([
      service,
      secrets?.map(([name, secret]) => ({ name, valueFrom: { secretKeyRef: { name: secret, key: name } } })),
    ]);
  expect(ofKind(manifests, 'Secret')).toEqual([]);
});

test('with secretsAsFiles, a service gets its secrets as files, and no pod has one in its environment', async () => {
  const values = { secretsAsFiles: true, redis: { key: 'URL' }, database: { apart: { calls: { existingSecret: 'apart' } } } };
  const withFiles = await render({ files: TRIAL, values });
  expect(JSON.stringify(withFiles)).not.toContain('secretKeyRef');
  const install: Secret[] = [
    ['MIGRATE_DATABASE_URL', 'backends-postgres', 'DATABASE_URL'],
    ['MIGRATE_DATABASE_URL_CALLS', 'apart', 'DATABASE_URL'],
  ];
  for (const [part, secrets] of Object.entries({ ...SECRETS, install })) {
    const { spec } = pods(withFiles).find(({ name }) => name === `${NAME}-${part}`)!;
    const [container] = spec.containers as Manifest[];
    const sources = (spec.volumes as Manifest[]).find(({ name }) => name === 'secrets')?.projected.sources;
    expect([part, sources]).toEqual([
      part,
      secrets?.map(([path, name, key = path === 'REDIS_URL' ? 'URL' : path]) => ({ secret: { name, items: [{ key, path }] } })),
    ]);
    for (const [name] of secrets ?? [])
      expect(container!.env).toContainEqual({ name: `${name}_FILE`, value: `/etc/crs/secrets/${name}` });
    if (secrets)
      expect(container!.volumeMounts).toContainEqual({ name: 'secrets', mountPath: '/etc/crs/secrets', readOnly: true });
  }
});

test('every pod trusts the certificates of every source, which may be a ConfigMap or a key of a Secret', async () => {
  const trustedCertificates = [{ configMap: 'corporate', key: 'bundle.pem' }, { secret: 'cluster-ca' }];
  const manifests = await render({ files: TRIAL, values: { trustedCertificates } });
  const files = { CRS_TRUSTED_CERTIFICATES: '/etc/crs/trusted/0.crt,/etc/crs/trusted/1.crt' };
  for (const service of Object.keys(SECRETS))
    expect(find(manifests, 'ConfigMap', `${NAME}-${service}`).data).toMatchObject(files);
  const { env } = find(manifests, 'Job', `${NAME}-install`).spec.template.spec.containers[0];
  expect(env).toContainEqual({ name: 'CRS_TRUSTED_CERTIFICATES', value: files.CRS_TRUSTED_CERTIFICATES });
  for (const { name, spec } of pods(manifests).filter((pod) => !pod.name.endsWith('-tls-renewal'))) {
    const volume = (spec.volumes as Manifest[]).find((each) => each.name === 'trusted');
    expect([name, volume?.projected.sources]).toEqual([
      name,
      [
        { configMap: { name: 'corporate', items: [{ key: 'bundle.pem', path: '0.crt' }] } },
        { secret: { name: 'cluster-ca', items: [{ key: 'ca.crt', path: '1.crt' }] } },
      ],
    ]);
    // A mount with `subPath` would never see renewed certificates.
    expect(spec.containers[0].volumeMounts).toContainEqual({ name: 'trusted', mountPath: '/etc/crs/trusted', readOnly: true });
  }
});
