import { beforeAll, describe, expect, test } from 'vitest';
import { outside } from '../src/policies.ts';
import { find, ofKind, pods, render, type Manifest } from '../src/render.ts';

const NAME = 'crs-call-research';
const examples = (name: string) => render({ files: [`examples/${name}.yaml`] });
const annotations = (manifest: Manifest): Record<string, string> => manifest.metadata.annotations ?? {};

describe('OpenShift', () => {
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await examples('openshift');
  });

  test('can assign user and group ids, because no pod sets one (restricted-v2 would reject it)', () => {
    for (const { name, spec } of pods(manifests)) {
      const contexts = [spec.securityContext, ...spec.containers.map((container: Manifest) => container.securityContext)];
      for (const context of contexts)
        for (const key of ['runAsUser', 'runAsGroup', 'fsGroup']) expect([name, context[key]]).toEqual([name, undefined]);
      expect(spec.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      for (const container of spec.containers)
        expect(container.securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  test('gets egress rules for the port of its DNS pods', () => {
    for (const component of ['auth', 'test', 'install'])
      expect(outside(manifests, component, 'egress')).toContain('openshift-dns:53/udp,53,5353/udp,5353');
  });
});

describe('plain manifests', () => {
  test('have no Helm hooks, and so no test, which would run with each `kubectl apply`', async () => {
    const manifests = await examples('plain-manifests');
    for (const manifest of manifests)
      expect([manifest.metadata.name, annotations(manifest)['helm.sh/hook']]).toEqual([manifest.metadata.name, undefined]);
    expect(JSON.stringify(manifests)).not.toContain('smoke.ts');
  });

  test('applied again after a change of values, change no immutable object', async () => {
    const values = { image: { tag: 'next' }, defaults: { logLevel: 'debug', env: { CRS_A: 1 } } };
    const files = ['examples/plain-manifests.yaml'];
    const [before, after] = await Promise.all([render({ files }), render({ files, values })]);
    expect(ofKind(after, 'Pod')).toEqual([]);
    const jobs = (manifests: Manifest[]) => ofKind(manifests, 'Job').map(({ metadata }) => metadata.name as string);
    expect(jobs(before)).toHaveLength(1);
    expect(jobs(after)).not.toContain(jobs(before)[0]);
  });

  test('name the install Job after its image and values, and keep it once it has finished', async () => {
    const job = async (values: Manifest) => {
      const manifests = await render({ files: ['examples/plain-manifests.yaml'], values });
      return ofKind(manifests, 'Job')[0]!;
    };
    const first = await job({});
    expect(first.metadata.name).toMatch(/^crs-call-research-install-[0-9a-f]{8}$/);
    expect(first.spec.ttlSecondsAfterFinished).toBeUndefined();
    expect((await job({})).metadata.name).toBe(first.metadata.name);
    expect((await job({ image: { tag: 'next' } })).metadata.name).not.toBe(first.metadata.name);
    expect((await job({ defaults: { logLevel: 'debug' } })).metadata.name).not.toBe(first.metadata.name);
  });
});

test('Argo CD runs the install Job and everything that it needs before the other objects', async () => {
  const manifests = await examples('argocd');
  const hooks = manifests.filter((manifest) => annotations(manifest)['helm.sh/hook'] === 'pre-install,pre-upgrade,pre-rollback');
  expect(hooks.map(({ kind }) => String(kind)).toSorted()).toEqual([
    'Job',
    'NetworkPolicy',
    'Role',
    'RoleBinding',
    'ServiceAccount',
  ]);
  for (const { metadata } of manifests) expect(metadata.labels['example.com/team']).toBe('research');
});

describe.each([
  ['eks', 'eks.amazonaws.com/role-arn'],
  ['gke', 'iam.gke.io/gcp-service-account'],
  ['aks', 'azure.workload.identity/client-id'],
])('%s', (name, annotation) => {
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await examples(name);
  });

  test('annotates each ServiceAccount with its cloud identity', () => {
    const accounts = ofKind(manifests, 'ServiceAccount');
    expect(accounts).toHaveLength(11);
    for (const account of accounts) expect(annotations(account)).toHaveProperty([annotation]);
  });

  test('pulls the image of every container from the registry of the cloud', () => {
    const ours = pods(manifests).flatMap(({ spec }) => spec.containers.map(({ image }: Manifest) => image as string));
    for (const image of ours) expect(image).toMatch(/^[a-z0-9.-]+\.(com|dev|io)\/.*call-research:0\.1\.0$/);
  });
});

test('on EKS, load balancers check the health of gateways at a port that the network policies open to them', async () => {
  const manifests = await examples('eks');
  for (const gateway of ['api-gateway', 'tool-gateway']) {
    expect(annotations(find(manifests, 'Ingress', `${NAME}-${gateway}`))).toMatchObject({
      'alb.ingress.kubernetes.io/healthcheck-port': '9090',
      'alb.ingress.kubernetes.io/healthcheck-path': '/readyz',
    });
    expect(outside(manifests, gateway, 'ingress')).toContain('10.0.0.0/16:9090');
  }
  expect(outside(manifests, 'calls', 'ingress')).not.toContain('10.0.0.0/16:9090');
  // The balancer sends requests to a stopping pod until it has noticed.
  for (const [service, seconds] of [
    ['api-gateway', 60],
    ['tool-gateway', 60],
    ['calls', 5],
  ] as const)
    expect(find(manifests, 'Deployment', `${NAME}-${service}`).spec.template.spec.containers[0].lifecycle.preStop).toEqual({
      sleep: { seconds },
    });
});

test('on GKE, every pod that uses the database, Jobs included, has a Cloud SQL proxy, and each gateway has a health check', async () => {
  const manifests = await examples('gke');
  const podsWithSidecar = pods(manifests).filter(({ spec }) => spec.initContainers?.[0].name === 'cloud-sql-proxy');
  expect(podsWithSidecar.map(({ name }) => name).toSorted()).toEqual(
    ['auth', 'calls', 'entities', 'install', 'install', 'projects'].map((part) => `${NAME}-${part}`),
  );
  for (const { spec } of podsWithSidecar) expect(spec.initContainers[0].restartPolicy).toBe('Always');
  const checks = ofKind(manifests, 'HealthCheckPolicy').map(({ spec }) => spec.targetRef.name as string);
  expect(checks).toEqual([`${NAME}-api-gateway`, `${NAME}-tool-gateway`]);
});

test('on AKS, every pod has the label for workload identity', async () => {
  for (const { name, metadata } of pods(await examples('aks')))
    expect([name, metadata.labels['azure.workload.identity/use']]).toEqual([name, 'true']);
});

describe('Istio', () => {
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await examples('istio');
  });

  test('injects no sidecar into the install Job, which could not finish with one', () => {
    for (const { name, metadata } of pods(manifests))
      expect([name, metadata.labels['sidecar.istio.io/inject']]).toEqual([name, String(!name.endsWith('-install'))]);
  });

  test('finds the protocol of each Service port, and pods may reach its control plane', () => {
    const ports = find(manifests, 'Service', `${NAME}-auth`).spec.ports as Manifest[];
    expect(ports.map(({ name, appProtocol }) => [name, appProtocol])).toEqual([
      ['admin', 'grpc'],
      ['grpc', 'grpc'],
      ['http', 'http'],
    ]);
    for (const part of ['auth', 'api-gateway', 'test'])
      expect(outside(manifests, part, 'egress')).toContain('istio-system:15012');
  });
});

test("in a corporate network, only auth may reach the proxy and the company's identity provider, and no public address", async () => {
  const manifests = await examples('corporate-network');
  expect(outside(manifests, 'auth', 'egress')).toContain('10.1.2.3/32+10.1.8.0/24:3128,443,8443');
  expect(outside(manifests, 'auth', 'egress').join(' ')).not.toContain('0.0.0.0/0');
  expect(outside(manifests, 'calls', 'egress').join(' ')).not.toContain('3128');
  expect(find(manifests, 'ConfigMap', `${NAME}-auth`).data).toMatchObject({
    HTTPS_PROXY: 'http://egress.corp.example:3128',
    CRS_OIDC_ALLOW_HOSTS: 'login.corp.example:443,keycloak.corp.example:8443',
  });
});

test.each([
  ['rds-iam', 'CRS_DATABASE_PASSWORD_FILE', ['auth', 'calls', 'entities', 'install', 'install', 'projects']],
  ['memorystore-iam', 'CRS_REDIS_PASSWORD_FILE', ['rate-limit']],
])('with %s, a sidecar writes the file that %s names', async (name, setting, parts) => {
  const manifests = await examples(name);
  const podsWithSidecar = pods(manifests).filter(({ spec }) => spec.initContainers?.[0].name === 'tokens');
  expect(podsWithSidecar.map((pod) => pod.name).toSorted()).toEqual(parts.map((part) => `${NAME}-${part}`));
  for (const pod of podsWithSidecar) {
    const [sidecar] = pod.spec.initContainers;
    const settings = pod.kind === 'Deployment' ? find(manifests, 'ConfigMap', pod.name).data : {};
    const path =
      settings[setting] ?? (pod.spec.containers[0].env as Manifest[]).find(({ name: variable }) => variable === setting).value;
    expect(sidecar.restartPolicy).toBe('Always');
    expect(sidecar.args[0]).toContain(` ${path}\n`);
    expect(sidecar.startupProbe.exec.command).toContain(path);
    expect(pod.spec.containers[0].volumeMounts).toContainEqual({ name: 'tokens', mountPath: '/run/tokens', readOnly: true });
  }
});
