import { beforeAll, describe, expect, test } from 'vitest';
import { find, ofKind, pods, render, type Manifest } from '../src/render.ts';

const SERVICES = ['api-gateway', 'tool-gateway', 'auth', 'calls', 'projects', 'entities', 'rate-limit'];
const NAME = 'crs-call-research';
const TRIAL = ['examples/trial.yaml'];

describe.each(['examples/trial.yaml', 'examples/production.yaml', 'examples/large.yaml', 'ci/everything.yaml'])(
  'pods of %s',
  (file) => {
    let all: ReturnType<typeof pods>;
    let manifests: Manifest[];
    beforeAll(async () => {
      manifests = await render({ files: [file] });
      all = pods(manifests);
    });

    test('meet the restricted Pod Security Standard, with a read-only root file system', () => {
      expect(all.length).toBeGreaterThanOrEqual(10);
      for (const { spec } of all) {
        expect(spec.securityContext).toMatchObject({
          runAsNonRoot: true,
          runAsUser: 65532,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        for (const container of spec.containers)
          expect(container.securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
        for (const volume of spec.volumes ?? []) expect(volume.hostPath).toBeUndefined();
      }
    });

    test('mount no ServiceAccount token, except the install Job and the certificate renewal', () => {
      for (const { name, spec } of all)
        expect([name, spec.automountServiceAccountToken]).toEqual([name, /-(install|tls-renewal)$/.test(name)]);
      for (const account of ofKind(manifests, 'ServiceAccount')) expect(account.automountServiceAccountToken).toBe(false);
    });

    test('request CPU and memory, and limit memory', () => {
      for (const { spec } of all)
        for (const { resources } of spec.containers) {
          expect(resources.requests).toEqual({ cpu: expect.any(String), memory: expect.any(String) });
          expect(resources.limits).toEqual({ memory: expect.any(String) });
        }
    });

    test('run under a ServiceAccount that the chart creates', () => {
      for (const { spec } of all) find(manifests, 'ServiceAccount', spec.serviceAccountName);
    });
  },
);

describe('a service', () => {
  let manifests: Manifest[];
  const containerOf = (service: string) => find(manifests, 'Deployment', `${NAME}-${service}`).spec.template.spec.containers[0];
  beforeAll(async () => {
    manifests = await render({ files: TRIAL });
  });

  test('is one of seven, each with a Deployment, a Service and a ConfigMap', () => {
    for (const service of SERVICES) {
      expect(containerOf(service).args).toEqual([`services/${service}/src/main.ts`]);
      find(manifests, 'Service', `${NAME}-${service}`);
      find(manifests, 'ConfigMap', `${NAME}-${service}`);
    }
    expect(ofKind(manifests, 'Deployment')).toHaveLength(SERVICES.length + 1);
  });

  test('leaves command and Node.js flags to the image', () => {
    for (const service of SERVICES) expect(containerOf(service).command).toBeUndefined();
  });

  test('has gRPC probes on a port without TLS', () => {
    for (const service of SERVICES) {
      const { startupProbe, readinessProbe, livenessProbe } = containerOf(service);
      expect(startupProbe.grpc).toEqual({ port: 50053, service: 'liveness' });
      expect(readinessProbe.grpc).toEqual({ port: 50053, service: 'readiness' });
      expect(livenessProbe.grpc).toEqual({ port: 50053, service: 'liveness' });
    }
  });

  test('sleeps before SIGTERM, and then has time for the whole drain', async () => {
    const { spec } = find(manifests, 'Deployment', `${NAME}-calls`).spec.template;
    expect(spec.containers[0].lifecycle.preStop).toEqual({ sleep: { seconds: 5 } });
    // After the signal, kit's runUntilSignal gives the process 60 s.
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(5 + 60);
    const slower = await render({ files: TRIAL, values: { services: { calls: { preStopSeconds: 20 } } } });
    expect(find(slower, 'Deployment', `${NAME}-calls`).spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
      65,
    );
  });

  test('keeps its old pods in a rolling update until clients have had time to find new ones', () => {
    for (const service of SERVICES)
      expect(find(manifests, 'Deployment', `${NAME}-${service}`).spec).toMatchObject({
        strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: '25%' } },
        minReadySeconds: 10,
      });
  });

  test('retries a DNS query after a second', () => {
    for (const service of SERVICES) {
      const { dnsConfig } = find(manifests, 'Deployment', `${NAME}-${service}`).spec.template.spec;
      expect(dnsConfig).toEqual({
        options: [
          { name: 'timeout', value: '1' },
          { name: 'attempts', value: '5' },
        ],
      });
    }
  });

  test('has a headless Service if its clients use gRPC, and a ClusterIP if they use HTTP', () => {
    for (const service of SERVICES) {
      const { spec } = find(manifests, 'Service', `${NAME}-${service}`);
      // Older versions of Kubernetes don't know trafficDistribution.
      expect(spec).not.toHaveProperty('trafficDistribution');
      if (service.endsWith('gateway'))
        expect(spec).toMatchObject({ type: 'ClusterIP', ports: [{ port: 80, targetPort: 'http' }] });
      else expect(spec.clusterIP).toBe('None');
    }
    const ports = find(manifests, 'Service', `${NAME}-auth`).spec.ports as Manifest[];
    expect(ports.map(({ name, port }) => [name, port])).toEqual([
      ['admin', 50052],
      ['grpc', 50051],
      ['http', 8082],
    ]);
  });

  test('gets its settings from a ConfigMap', () => {
    expect(find(manifests, 'ConfigMap', `${NAME}-tool-gateway`).data).toEqual({
      CRS_LISTEN: '0.0.0.0:8081',
      CRS_OPS_LISTEN: '0.0.0.0:9090',
      CRS_HEALTH_LISTEN: '0.0.0.0:50053',
      CRS_LOG_LEVEL: 'info',
      CRS_TLS_DIR: '/etc/crs/tls',
      CRS_TLS_PEER_DOMAIN: 'crs-call-research.research.call-research',
      CRS_TOOLS_URL: 'http://127.0.0.1:8081',
      CRS_AUTH_ADDRESS: `${NAME}-auth:50051`,
      CRS_AUTH_HTTP_ADDRESS: `${NAME}-auth:8082`,
      CRS_CALLS_ADDRESS: `${NAME}-calls:50051`,
      CRS_PROJECTS_ADDRESS: `${NAME}-projects:50051`,
      CRS_ENTITIES_ADDRESS: `${NAME}-entities:50051`,
      CRS_RATE_LIMIT_ADDRESS: `${NAME}-rate-limit:50051`,
      OTEL_RESOURCE_ATTRIBUTES: 'service.namespace=crs,service.version=0.1.0,k8s.namespace.name=research',
    });
    expect(find(manifests, 'ConfigMap', `${NAME}-calls`).data).toMatchObject({ CRS_DATABASE_CONNECTIONS: '8' });
    expect(find(manifests, 'ConfigMap', `${NAME}-api-gateway`).data).toMatchObject({
      CRS_API_URL: 'http://127.0.0.1:8080',
      CRS_TOOLS_URL: 'http://127.0.0.1:8081',
    });
    expect(find(manifests, 'ConfigMap', `${NAME}-auth`).data).toMatchObject({ CRS_TOOLS_URL: 'http://127.0.0.1:8081' });
  });

  test('has the probe timings and minReadySeconds of its values', async () => {
    const calls = { minReadySeconds: 0, probes: { startup: { failureThreshold: 300 }, liveness: { initialDelaySeconds: 5 } } };
    const { spec } = find(await render({ files: TRIAL, values: { services: { calls } } }), 'Deployment', `${NAME}-calls`);
    expect(spec.minReadySeconds).toBe(0);
    const { startupProbe, livenessProbe } = spec.template.spec.containers[0];
    expect(startupProbe).toMatchObject({ grpc: { port: 50053 }, periodSeconds: 2, failureThreshold: 300 });
    expect(livenessProbe).toMatchObject({ initialDelaySeconds: 5, periodSeconds: 10 });
  });

  test('restarts only if its own settings change', async () => {
    const checksum = (of: Manifest[], service: string) =>
      find(of, 'Deployment', `${NAME}-${service}`).spec.template.metadata.annotations['checksum/config'];
    const other = await render({
      files: TRIAL,
      values: { services: { calls: { env: { CRS_ANY: 1 } } }, networkPolicy: { clients: [] } },
    });
    expect(find(other, 'ConfigMap', `${NAME}-calls`).data.CRS_ANY).toBe('1');
    expect(checksum(other, 'calls')).not.toBe(checksum(manifests, 'calls'));
    expect(checksum(other, 'projects')).toBe(checksum(manifests, 'projects'));
  });
});

test('a value of one service overrides the default, even if it is zero, false or empty', async () => {
  const manifests = await render({
    files: TRIAL,
    values: {
      database: { maxConnections: 0 },
      defaults: {
        replicaCount: 3,
        autoscaling: { enabled: true },
        resources: { requests: { cpu: '250m' } },
        priorityClassName: 'high',
        env: { CRS_A: 'a', CRS_B: 'b' },
        nodeSelector: { disk: 'ssd' },
        tolerations: [{ operator: 'Exists' }],
        affinity: { nodeAffinity: {} },
      },
      services: {
        calls: {
          replicaCount: 0,
          autoscaling: { enabled: false },
          podDisruptionBudget: { enabled: false },
          topologySpreadConstraints: [],
          tolerations: [],
          preStopSeconds: 0,
          priorityClassName: '',
          env: { CRS_A: '', CRS_C: 0, CRS_D: false },
          resources: { limits: { memory: '' } },
        },
        entities: { podDisruptionBudget: { maxUnavailable: 0 }, resources: { limits: { memory: null, cpu: 2 } } },
      },
    },
  });
  const { spec } = find(manifests, 'Deployment', `${NAME}-calls`);
  expect(spec.replicas).toBe(0);
  expect(spec.template.spec.topologySpreadConstraints).toBeUndefined();
  expect(spec.template.spec.tolerations).toBeUndefined();
  expect(spec.template.spec.priorityClassName).toBeUndefined();
  expect(spec.template.spec.nodeSelector).toEqual({ disk: 'ssd' });
  // Kubernetes rejects a sleep of 0 before 1.33.
  expect(spec.template.spec.containers[0]).not.toHaveProperty('lifecycle');
  expect(spec.template.spec.containers[0].resources.limits ?? {}).toEqual({});
  expect(find(manifests, 'ConfigMap', `${NAME}-calls`).data).toMatchObject({ CRS_A: '', CRS_B: 'b', CRS_C: '0', CRS_D: 'false' });
  expect(() => find(manifests, 'HorizontalPodAutoscaler', `${NAME}-calls`)).toThrow('0 objects');
  expect(() => find(manifests, 'PodDisruptionBudget', `${NAME}-calls`)).toThrow('0 objects');
  expect(find(manifests, 'PodDisruptionBudget', `${NAME}-entities`).spec.maxUnavailable).toBe(0);
  expect(find(manifests, 'Deployment', `${NAME}-entities`).spec.template.spec.containers[0].resources.limits).toEqual({ cpu: 2 });
  expect(find(manifests, 'Deployment', `${NAME}-auth`).spec.template.spec).toMatchObject({ priorityClassName: 'high' });
});

test('every pod has the variables, volumes, init containers, sidecars and further fields that were added to all', async () => {
  const all = pods(await render({ files: ['ci/everything.yaml'] }));
  expect(all.map(({ name }) => name).toSorted()).toEqual(
    [...SERVICES, 'webhooks', 'backfill', 'crs', 'install', 'install', 'retention', 'tenants', 'test']
      .map((part) => `crs-${part}`)
      .toSorted(),
  );
  for (const { name, metadata, spec } of all) {
    const [own, ...others] = spec.containers as Manifest[];
    expect([name, others.map((container) => container.name)]).toEqual([name, ['audit']]);
    expect([name, spec.initContainers.map((container: Manifest) => container.name)]).toEqual([name, ['wait']]);
    expect([name, own!.image]).toEqual([name, 'registry.example.com/call-research:0.1.0']);
    expect(own!.env).toContainEqual({
      name: 'OTEL_EXPORTER_OTLP_HEADERS',
      valueFrom: { secretKeyRef: { name: 'collector', key: 'headers' } },
    });
    expect(own!.envFrom).toContainEqual({ secretRef: { name: 'further-settings' } });
    expect(own!.volumeMounts).toContainEqual({
      name: 'client-certificate',
      mountPath: '/etc/crs/postgres',
      readOnly: true,
    });
    expect(spec.volumes).toContainEqual({ name: 'client-certificate', secret: { secretName: 'postgres-client' } });
    expect(spec.imagePullSecrets).toEqual([{ name: 'shared' }, { name: 'registry' }]);
    expect(spec).toMatchObject({ runtimeClassName: 'gvisor', hostUsers: false, dnsConfig: { options: [{ name: 'ndots' }] } });
    expect(metadata.labels).toMatchObject({ 'example.com/cost-center': '42', 'example.com/team': 'research' });
    expect(metadata.annotations).toMatchObject({ 'example.com/scrape': 'no' });
  }
});
