import { describe, expect, test } from 'vitest';
import { find, ofKind, render } from '../src/render.ts';

const NAME = 'crs-call-research';
const TRIAL = ['examples/trial.yaml'];
const refusal = (values: object) => expect(render({ files: TRIAL, values })).rejects;
const ROOM = { requests: { cpu: '250m' } };

describe('with an autoscaler of the chart', () => {
  const autoscaling = { enabled: true, minReplicas: 3, maxReplicas: 7, targetCPU: '600m' };
  const scaled = { defaults: { autoscaling, resources: ROOM }, database: { maxConnections: 0 } };

  test("pods are added by the CPU usage of the service's own container, and Helm doesn't set their number", async () => {
    const manifests = await render({ files: TRIAL, values: scaled });
    expect(ofKind(manifests, 'HorizontalPodAutoscaler')).toHaveLength(7);
    const cpu = { name: 'cpu', container: 'calls', target: { type: 'AverageValue', averageValue: '600m' } };
    expect(find(manifests, 'HorizontalPodAutoscaler', `${NAME}-calls`).spec).toMatchObject({
      scaleTargetRef: { kind: 'Deployment', name: `${NAME}-calls` },
      minReplicas: 3,
      maxReplicas: 7,
      metrics: [{ type: 'ContainerResource', containerResource: cpu }],
    });
    const { spec } = find(manifests, 'Deployment', `${NAME}-calls`);
    expect(spec).not.toHaveProperty('replicas');
    expect(spec.template.spec.containers[0].name).toBe('calls');
  });

  test.each([0.249, '100m', '249m'])('a CPU request of %s, below half of the default target, is rejected', async (cpu) => {
    const defaults = { autoscaling: { enabled: true }, resources: { requests: { cpu } } };
    await refusal({ defaults }).toThrow('api-gateway: with autoscaling, set resources.requests.cpu to 250m or more');
  });

  test.each([1, '1', 0.5, '250m'])('a CPU request of %j suffices', async (cpu) => {
    const limiter = { autoscaling: { enabled: true }, resources: { requests: { cpu } } };
    await expect(render({ files: TRIAL, values: { services: { 'rate-limit': limiter } } })).resolves.toBeDefined();
  });

  test('a minimum above the maximum is rejected', async () => {
    const auth = { autoscaling: { enabled: true, minReplicas: 9 }, resources: ROOM };
    await refusal({ services: { auth } }).toThrow('auth: autoscaling.minReplicas exceeds');
  });
});

describe('with an autoscaler of your own', () => {
  test('Helm sets no number of pods, and creates no autoscaler', async () => {
    const limiter = { autoscaling: { external: true } };
    const manifests = await render({ files: TRIAL, values: { services: { 'rate-limit': limiter } } });
    expect(find(manifests, 'Deployment', `${NAME}-rate-limit`).spec).not.toHaveProperty('replicas');
    expect(find(manifests, 'Deployment', `${NAME}-auth`).spec.replicas).toBe(1);
    expect(ofKind(manifests, 'HorizontalPodAutoscaler')).toEqual([]);
  });

  test("the chart's own can't be enabled, too", async () => {
    const calls = { autoscaling: { external: true, enabled: true } };
    await refusal({ services: { calls } }).toThrow('calls: enable either autoscaling.enabled or autoscaling.external');
  });

  test('a replicaCount of null is rejected: Kubernetes would start one pod', async () => {
    await refusal({ defaults: { replicaCount: null } }).toThrow('set autoscaling.external to true');
    await refusal({ services: { calls: { replicaCount: null } } }).toThrow('replicaCount');
  });
});

describe('disruptions', () => {
  test('of a node drain reach one pod of a service at a time', async () => {
    const manifests = await render({ files: TRIAL });
    expect(ofKind(manifests, 'PodDisruptionBudget')).toHaveLength(7);
    const { spec } = find(manifests, 'PodDisruptionBudget', `${NAME}-auth`);
    expect(spec.maxUnavailable).toBe(1);
    expect(spec.selector).toEqual(find(manifests, 'Deployment', `${NAME}-auth`).spec.selector);
  });

  test('of a zone or node leave pods elsewhere', async () => {
    const { spec } = find(await render({ files: TRIAL }), 'Deployment', `${NAME}-auth`);
    expect(spec.template.spec.topologySpreadConstraints).toMatchObject([
      { topologyKey: 'topology.kubernetes.io/zone', labelSelector: spec.selector },
      { topologyKey: 'kubernetes.io/hostname', labelSelector: spec.selector },
    ]);
  });
});
