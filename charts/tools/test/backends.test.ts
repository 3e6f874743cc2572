import { expect, test } from 'vitest';
import { find, pods, render } from '../src/render.ts';

test('the backends chart creates the Secrets that examples/trial.yaml refers to', async () => {
  const manifests = await render({ chart: 'backends', release: 'backends' });
  const trial = JSON.stringify(await render({ files: ['examples/trial.yaml'] }));
  for (const [secret, key, url] of [
    ['backends-postgres', 'DATABASE_URL', /^postgres:\/\/postgres:\w{40}@backends-postgres:5432\/postgres\?sslmode=disable$/],
    ['backends-redis', 'REDIS_URL', /^redis:\/\/:\w{40}@backends-redis:6379$/],
  ] as const) {
    expect(find(manifests, 'Secret', secret).stringData[key]).toMatch(url);
    expect(trial).toContain(JSON.stringify({ name: secret, key }));
    find(manifests, 'Service', secret);
  }
});

test('the pods of the backends chart meet the restricted Pod Security Standard', async () => {
  for (const { spec } of pods(await render({ chart: 'backends' }))) {
    expect(spec).toMatchObject({ automountServiceAccountToken: false });
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(spec.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  }
});

test('the pods of the backends chart use the given pull Secrets', async () => {
  const values = { imagePullSecrets: [{ name: 'docker-hub' }] };
  for (const { spec } of pods(await render({ chart: 'backends', values })))
    expect(spec.imagePullSecrets).toEqual([{ name: 'docker-hub' }]);
});

test('with a persistent volume, the password Secret is kept on uninstallation, like the data', async () => {
  const manifests = await render({ chart: 'backends', values: { postgres: { storage: '2Gi' } } });
  const { spec } = find(manifests, 'StatefulSet', 'crs-backends-postgres');
  expect(spec.volumeClaimTemplates[0].spec.resources.requests.storage).toBe('2Gi');
  expect(find(manifests, 'Secret', 'crs-backends-postgres').metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
});
