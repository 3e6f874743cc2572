import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { find, ofKind, render } from '../src/render.ts';

const NAME = 'crs-call-research-tenants';
const FILES = ['examples/trial.yaml'];
const ACME = { id: 'acme', name: 'on', delete_limit: 1_000_000_000, keys: [{ sha256: '1'.repeat(64) }] };
const TENANTS = { organizations: [ACME], operatorSecret: 'tenants-operator' };

describe('the Job of tenants', () => {
  test('applies exactly the organizations of the values, after each install, upgrade and rollback, with its own operator', async () => {
    const manifests = await render({ files: FILES, values: { tenants: TENANTS } });
    expect(parse(find(manifests, 'ConfigMap', NAME).data['tenants.yaml'])).toEqual({ organizations: [ACME] });
    const { metadata, spec } = find(manifests, 'Job', NAME);
    expect(metadata.annotations).toMatchObject({ 'helm.sh/hook': 'post-install,post-upgrade,post-rollback' });
    const [container] = spec.template.spec.containers;
    expect(container.args).toEqual(['apply', '--file', '/etc/crs/tenants/tenants.yaml', '--yes']);
    const { labels } = spec.template.metadata as { labels: Record<string, string> };
    const policies = ofKind(manifests, 'NetworkPolicy').filter(({ spec: { podSelector } }) =>
      Object.entries(podSelector.matchLabels as Record<string, string>).every(([name, value]) => labels[name] === value),
    );
    expect(policies.map(({ metadata: { name } }) => name as string)).toEqual([
      'crs-call-research-default-deny',
      'crs-call-research-job',
    ]);
    const volumes = spec.template.spec.volumes as { name: string }[];
    expect(volumes).toContainEqual({ name: 'tenants', configMap: { name: NAME } });
    expect(volumes).toContainEqual(
      expect.objectContaining({ secret: expect.objectContaining({ secretName: 'tenants-operator' }) }),
    );
  });

  test('prunes, and mounts client secrets, if the values say so', async () => {
    const volumes = [{ name: 'oidc', secret: { secretName: 'acme-oidc' } }];
    const volumeMounts = [{ name: 'oidc', mountPath: '/secrets' }];
    const manifests = await render({ files: FILES, values: { tenants: { ...TENANTS, prune: true, volumes, volumeMounts } } });
    const { spec } = find(manifests, 'Job', NAME).spec.template;
    expect(spec.containers[0].args).toContain('--prune');
    expect(spec.containers[0].volumeMounts).toContainEqual(volumeMounts[0]);
    expect(spec.volumes).toContainEqual(volumes[0]);
  });

  test('has another name for another file where there are no hooks', async () => {
    const names = async (organizations: object[]) => {
      const manifests = await render({ files: ['examples/plain-manifests.yaml'], values: { tenants: { organizations } } });
      return ofKind(manifests, 'Job').map(({ metadata }) => metadata.name as string).filter((name) => name.startsWith(NAME)); // prettier-ignore
    };
    const [first] = await names([ACME]);
    expect(first).toMatch(new RegExp(`^${NAME}-[0-9a-f]{8}$`));
    expect(await names([ACME])).toEqual([first]);
    expect(await names([{ ...ACME, name: 'off' }])).not.toContain(first);
  });

  test('is absent without organizations', async () => {
    const manifests = await render({ files: FILES });
    expect(manifests.filter(({ metadata }) => metadata.name.startsWith(NAME))).toEqual([]);
  });
});
