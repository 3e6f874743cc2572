import { beforeAll, describe, expect, test } from 'vitest';
import type { BoundService } from '../../../packages/kit/src/rpc/server.ts';
import * as auth from '../../../services/auth/src/handlers/index.ts';
import * as calls from '../../../services/calls/src/handlers/index.ts';
import * as entities from '../../../services/entities/src/handlers/index.ts';
import * as projects from '../../../services/projects/src/handlers/index.ts';
import * as webhooks from '../../../services/webhooks/src/handlers/index.ts';
import * as rateLimit from '../../../services/rate-limit/src/handlers/index.ts';
import { arrows, components, outside } from '../src/policies.ts';
import { find, ofKind, pods, render, type Manifest } from '../src/render.ts';

/** The ports of all our listeners. */
const PORTS = [8080, 8081, 8082, 9090, 50051, 50052, 50053];

/** The connections between components that the design allows. Written by hand, not derived from the chart. */
const DESIGN = [
  'api-gateway -> auth:50051',
  'api-gateway -> calls:50051',
  'api-gateway -> entities:50051',
  'api-gateway -> projects:50051',
  'api-gateway -> rate-limit:50051',
  'tool-gateway -> auth:50051',
  'tool-gateway -> auth:8082',
  'tool-gateway -> calls:50051',
  'tool-gateway -> entities:50051',
  'tool-gateway -> projects:50051',
  'tool-gateway -> rate-limit:50051',
  'calls -> auth:50051',
  'entities -> auth:50051',
  'projects -> auth:50051',
  // Operators use their pod, their jobs, and `helm test`, which creates a tenant and calls both gateways.
  ...['crs', 'job', 'test'].flatMap((from) => ['auth', 'calls', 'entities', 'projects'].map((to) => `${from} -> ${to}:50052`)),
  // `crs status` checks the health of the services without an admin listener.
  ...['crs', 'job', 'test'].flatMap((from) =>
    ['api-gateway', 'tool-gateway', 'rate-limit'].map((to) => `${from} -> ${to}:50053`),
  ),
  'test -> api-gateway:8080',
  'test -> tool-gateway:8081',
].toSorted();

/** Further ones if webhooks are on. */
const WEBHOOKS = [
  'webhooks -> auth:50051',
  'webhooks -> calls:50051',
  ...['crs', 'job', 'test'].map((from) => `${from} -> webhooks:50052`),
];

const DNS = 'kube-system/kube-dns+169.254.0.0/16:53/udp,53';

describe.each([
  ['production', false],
  ['large', true],
])('examples/%s.yaml, with webhooks: %s', (example, enabled) => {
  let manifests: Manifest[];
  beforeAll(async () => {
    const values = { jobs: { some: { args: ['status'] } }, toolbox: { enabled: true }, webhooks: { enabled } };
    manifests = await render({ files: [`examples/${example}.yaml`], values });
  });

  test('allows exactly the connections of the design, in both egress and ingress rules', () => {
    const open = [...DESIGN, ...(enabled ? WEBHOOKS : [])].toSorted();
    expect(arrows(manifests, PORTS)).toEqual({ open, halfOpen: [] });
  });

  test('isolates every pod in both directions', () => {
    const [name, instance] = ['app.kubernetes.io/name', 'app.kubernetes.io/instance'];
    expect(find(manifests, 'NetworkPolicy', 'crs-call-research-default-deny').spec).toEqual({
      podSelector: { matchLabels: { [name]: 'call-research', [instance]: 'crs' } },
      policyTypes: ['Ingress', 'Egress'],
    });
    for (const { metadata } of pods(manifests))
      expect(metadata.labels).toMatchObject({ [name]: 'call-research', [instance]: 'crs' });
  });
});

test('the programs that RPCs admit by name are those whose pods the policies let through', () => {
  const from = (services: BoundService[]) => services.flatMap(({ rpcs, from: of }) => Object.keys(rpcs).flatMap(of));
  // The handlers are only listed here, never called, so they need no dependencies.
  const none = { auth: {} } as never;
  const declared = Object.entries({
    auth,
    calls,
    entities,
    projects,
    'rate-limit': { ...rateLimit, adminServices: () => [] },
    webhooks: { ...webhooks, internalServices: () => [] },
  }).flatMap(([service, { internalServices, adminServices }]) => [
    ...from(internalServices(none)).map((program) => `${program} -> ${service}:50051`),
    ...from(adminServices(none)).map((program) => `${program} -> ${service}:50052`),
  ]);
  // Jobs and `helm test` have the certificate of crs.
  const drawn = [...DESIGN, ...WEBHOOKS]
    .filter((arrow) => /:5005[12]$/.test(arrow))
    .map((arrow) => arrow.replace(/^(job|test) /, 'crs '));
  expect([...new Set(declared)].toSorted()).toEqual([...new Set(drawn)].toSorted());
});

describe('connections outside the release, in examples/production.yaml', () => {
  const PROMETHEUS = 'monitoring:9090';
  const INGRESS = 'envoy-gateway-system';
  const POSTGRES = '10.30.0.0/24:5432';
  const REDIS = '10.30.1.0/24:6380';
  const COLLECTOR = 'monitoring:4318';
  const INTERNET = '0.0.0.0/0 without 10+2000::/3:443';
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await render({ files: ['examples/production.yaml'], values: { webhooks: { enabled: true } } });
  });

  test.each([
    ['api-gateway', [PROMETHEUS, `${INGRESS}:8080`], [DNS, COLLECTOR]],
    ['tool-gateway', [PROMETHEUS, `${INGRESS}:8081`], [DNS, COLLECTOR]],
    ['auth', [PROMETHEUS], [DNS, COLLECTOR, POSTGRES, INTERNET]],
    ['calls', [PROMETHEUS], [DNS, COLLECTOR, POSTGRES]],
    ['projects', [PROMETHEUS], [DNS, COLLECTOR, POSTGRES]],
    ['entities', [PROMETHEUS], [DNS, COLLECTOR, POSTGRES]],
    ['webhooks', [PROMETHEUS], [DNS, COLLECTOR, POSTGRES, INTERNET]],
    ['rate-limit', [PROMETHEUS], [DNS, COLLECTOR, REDIS]],
    ['crs', [], [DNS]],
    ['job', [], [DNS]],
    ['test', [], [DNS]],
    ['install', [], [DNS, POSTGRES, 'anywhere:443,6443']],
    ['tls-renewal', [], [DNS, 'anywhere:443,6443']],
  ])('%s has exactly the expected peers', (component, from, to) => {
    expect(outside(manifests, component, 'ingress')).toEqual(from.toSorted());
    expect(outside(manifests, component, 'egress')).toEqual(to.toSorted());
  });

  test('the rows above cover every component', () => {
    expect([...components(manifests).keys()]).toHaveLength(13);
  });
});

test('auth may reach public addresses, but no private network outside the cluster', async () => {
  const manifests = await render({ files: ['examples/trial.yaml'] });
  const egress = find(manifests, 'NetworkPolicy', 'crs-call-research-auth').spec.egress as Manifest[];
  const blocks = egress
    .filter(({ ports }) => ports.some(({ port }: Manifest) => port === 443))
    .flatMap(({ to = [] }) => to as Manifest[])
    .flatMap(({ ipBlock }) => ipBlock ?? []);
  expect(blocks).toMatchObject([{ cidr: '0.0.0.0/0' }, { cidr: '2000::/3' }]);
  for (const network of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '127.0.0.0/8', '100.64.0.0/10'])
    expect(blocks[0].except).toContain(network);
});

test('without values for their addresses, PostgreSQL and Redis may be at any address, at their default ports', async () => {
  const manifests = await render({ files: ['examples/trial.yaml'] });
  expect(outside(manifests, 'calls', 'egress')).toEqual(['anywhere:5432', DNS]);
  expect(outside(manifests, 'rate-limit', 'egress')).toEqual(['anywhere:6379', DNS]);
  expect(outside(manifests, 'api-gateway', 'ingress')).toEqual(['anywhere:8080', 'monitoring:9090']);
});

describe('DNS', () => {
  const resolversOf = (manifests: Manifest[]) =>
    ['auth', 'rate-limit', 'test', 'install', 'tls-renewal'].map((component) =>
      outside(manifests, component, 'egress').filter((peer) => peer.includes('53/udp')),
    );

  test.each(['trial', 'gke', 'aks'])('at link-local addresses is open by default and in examples/%s.yaml', async (example) => {
    // NodeLocal DNSCache has 169.254.20.10, GKE's Cloud DNS 169.254.169.254, and AKS's LocalDNS 169.254.10.11.
    for (const peers of resolversOf(await render({ files: [`examples/${example}.yaml`] }))) expect(peers).toEqual([DNS]);
  });

  test('is open to every address on EKS, because in Auto Mode no peer selects the resolver of the node', async () => {
    for (const peers of resolversOf(await render({ files: ['examples/eks.yaml'] })))
      expect(peers).toEqual(['anywhere:53/udp,53']);
  });
});

test('with an empty networkPolicy.monitoring, no pod may scrape metrics', async () => {
  const manifests = await render({ files: ['examples/trial.yaml'], values: { networkPolicy: { monitoring: [], clients: [] } } });
  expect(outside(manifests, 'calls', 'ingress')).toEqual([]);
});

test('with networkPolicy.enabled false the chart has no NetworkPolicy', async () => {
  const manifests = await render({ files: ['examples/trial.yaml'], values: { networkPolicy: { enabled: false } } });
  expect(ofKind(manifests, 'NetworkPolicy')).toEqual([]);
});
