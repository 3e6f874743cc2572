import { existsSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { find, ofKind, pods, render, type Manifest } from '../src/render.ts';

const NAME = 'crs-call-research';
/** The domain of the peer names in this release's certificates. */
const DOMAIN = `${NAME}.research.call-research`;
const SERVICES = ['api-gateway', 'tool-gateway', 'auth', 'calls', 'projects', 'entities', 'rate-limit'];
/** The components that have a certificate of their own. Jobs and the Helm test use that of `crs`. */
const PARTS = [...SERVICES, 'crs'];
const TRIAL = ['examples/trial.yaml'];
const JOBS = { some: { args: ['status'] } };

/** The pods that send or serve RPCs, each with the component whose certificate it presents. */
const speakers = (manifests: Manifest[]) =>
  pods(manifests)
    .filter(({ name }) => !/-(install|tls-renewal)$/.test(name))
    .map((pod) => ({ ...pod, part: SERVICES.find((service) => pod.name === `${NAME}-${service}`) ?? 'crs' }));
const secretsOf = (spec: Manifest): string[] => (spec.volumes as Manifest[]).flatMap(({ secret }) => secret?.secretName ?? []);
const envOf = (container: Manifest) =>
  Object.fromEntries((container.env as Manifest[]).map(({ name, value }) => [name, value])) as Record<string, string>;
const cronJobs = (manifests: Manifest[]) => ofKind(manifests, 'CronJob').map(({ metadata }) => metadata.name as string);
const settingsOf = (manifests: Manifest[], service: string) =>
  find(manifests, 'ConfigMap', `${NAME}-${service}`).data as Record<string, string>;

function expectSecrets(manifests: Manifest[], secretOf: (part: string) => string): void {
  const all = speakers(manifests);
  expect(all.map(({ name }) => name)).toEqual(expect.arrayContaining([`${NAME}-calls`, `${NAME}-test`]));
  for (const { part, spec } of all) {
    const tls = (spec.volumes as Manifest[]).find(({ name }) => name === 'tls');
    expect(tls).toEqual({ name: 'tls', secret: { secretName: secretOf(part), defaultMode: 0o440 } });
    // A mount with `subPath` would never see a renewed certificate.
    expect(spec.containers[0].volumeMounts).toContainEqual({ name: 'tls', mountPath: '/etc/crs/tls', readOnly: true });
  }
  for (const service of SERVICES) expect(settingsOf(manifests, service)['CRS_TLS_DIR']).toBe('/etc/crs/tls');
}

describe('by default, TLS between the services', () => {
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await render({ files: TRIAL, values: { jobs: JOBS } });
  });

  test('gives each pod the certificate of its own component, and no pod the private key of the CA', () => {
    expectSecrets(manifests, (part) => `${NAME}-${part}-mtls`);
    for (const { part, spec } of speakers(manifests))
      expect(secretsOf(spec).filter((name) => /-mtls$/.test(name))).toEqual([`${NAME}-${part}-mtls`]);
    expect(pods(manifests).flatMap(({ spec }) => (spec.volumes ? secretsOf(spec) : []))).not.toContain(`${NAME}-authority`);
  });

  test('has certificates that the install Job issues and a CronJob renews, for the same components', () => {
    const install = find(manifests, 'Job', `${NAME}-install`).spec.template.spec.containers[0];
    const { spec } = find(manifests, 'CronJob', `${NAME}-tls-renewal`);
    const [container] = spec.jobTemplate.spec.template.spec.containers;
    for (const env of [envOf(install), envOf(container)]) {
      expect(env['CRS_CERTIFICATES']!.split(',').toSorted()).toEqual(PARTS.toSorted());
      expect(env['CRS_SECRET_PREFIX']).toBe(NAME);
      expect(env['CRS_TLS_PEER_DOMAIN']).toBe(DOMAIN);
    }
    expect(spec).toMatchObject({ schedule: '17 */6 * * *', concurrencyPolicy: 'Forbid' });
    expect(existsSync(new URL(`../../../${container.args[0]}`, import.meta.url))).toBe(true);
  });

  test('has a certificate for each host that a process dials', () => {
    const dialled = [
      ...SERVICES.map((service) => settingsOf(manifests, service)),
      ...speakers(manifests).map(({ spec }) => envOf({ env: spec.containers[0].env ?? [] })),
    ]
      .flatMap((settings) => Object.entries(settings))
      // Health listeners are in plaintext.
      .filter(([name]) => /^CRS_.*_ADDRESS$/.test(name) && !name.endsWith('_HEALTH_ADDRESS'))
      .map(([, address]) => address.split(':')[0]!);
    // The host names that deploy/install/src/certificates.ts issues certificates for.
    const named = new Set(PARTS.map((part) => `${NAME}-${part}`));
    expect(dialled.filter((host) => !named.has(host))).toEqual([]);
    expect(new Set(dialled).size).toBe(5);
  });

  test('has a renewal account that may read and change only the Secrets of the certificates and of the CA', () => {
    const { rules } = find(manifests, 'Role', `${NAME}-tls-renewal`);
    expect(rules).toEqual([
      { apiGroups: [''], resources: ['secrets'], resourceNames: expect.any(Array), verbs: ['get', 'patch'] },
    ]);
    const names = [...PARTS.map((part) => `${NAME}-${part}-mtls`), `${NAME}-authority`];
    expect(rules[0].resourceNames.toSorted()).toEqual(names.toSorted());
    expect(find(manifests, 'Role', `${NAME}-install`).rules[2]).toEqual(rules[0]);
    const { subjects } = find(manifests, 'RoleBinding', `${NAME}-tls-renewal`);
    expect(subjects).toEqual([{ kind: 'ServiceAccount', name: `${NAME}-tls-renewal`, namespace: 'research' }]);
  });

  test('leaves probes and metrics on ports without TLS', () => {
    for (const service of SERVICES) {
      const { startupProbe, readinessProbe, livenessProbe } = find(manifests, 'Deployment', `${NAME}-${service}`).spec.template
        .spec.containers[0];
      for (const { grpc } of [startupProbe, readinessProbe, livenessProbe]) expect(grpc.port).toBe(50053);
      expect(settingsOf(manifests, service)).toMatchObject({
        CRS_HEALTH_LISTEN: '0.0.0.0:50053',
        CRS_OPS_LISTEN: '0.0.0.0:9090',
      });
    }
  });

  test('names the renewal CronJob within the limit of Kubernetes, even for the longest release name', async () => {
    const named = await render({ files: TRIAL, values: { fullnameOverride: 'a'.repeat(40) } });
    // Kubernetes limits the names of CronJobs to 52 characters.
    for (const { metadata } of ofKind(named, 'CronJob')) expect(metadata.name.length).toBeLessThanOrEqual(52);
  });
});

describe('TLS between the services', () => {
  test('in the mode cert-manager has a Certificate for each component, with its host names and its peer name', async () => {
    const manifests = await render({ files: ['examples/large.yaml'] });
    expectSecrets(manifests, (part) => `${NAME}-${part}-tls`);
    expect(ofKind(manifests, 'Certificate')).toHaveLength(PARTS.length);
    for (const part of PARTS) {
      const host = `${NAME}-${part}`;
      const { secretName, dnsNames, usages, issuerRef } = find(manifests, 'Certificate', host).spec;
      expect(secretName).toBe(`${host}-tls`);
      const names = [host, `${host}.research`, `${host}.research.svc`, `${host}.research.svc.cluster.local`];
      expect(dnsNames).toEqual([...names, `${part}.${DOMAIN}`]);
      expect(usages).toEqual(expect.arrayContaining(['server auth', 'client auth']));
      expect(issuerRef).toEqual({ name: 'call-research-ca', kind: 'Issuer', group: 'cert-manager.io' });
    }
    expect(cronJobs(manifests)).toEqual([`${NAME}-retention`, `${NAME}-install`]);
  });

  test('in the mode secrets uses the given Secret of each component', async () => {
    const existingSecrets = Object.fromEntries(PARTS.map((part) => [part, `tls-of-${part}`]));
    const manifests = await render({ files: TRIAL, values: { tls: { mode: 'secrets', existingSecrets } } });
    expectSecrets(manifests, (part) => `tls-of-${part}`);
    expect(ofKind(manifests, 'Certificate')).toEqual([]);
    expect(cronJobs(manifests)).toEqual([`${NAME}-retention`, `${NAME}-install`]);
  });

  // Without quotation marks, YAML reads off as false.
  test.each(['off', false])('can be turned off by the mode %j', async (mode) => {
    const manifests = await render({ files: TRIAL, values: { tls: { mode } } });
    expect(JSON.stringify(manifests)).not.toMatch(/etc\/crs\/tls|CRS_TLS|CRS_CERTIFICATES|mtls|tls-renewal/);
  });

  test.each([
    ['self-signed', {}, true],
    ['cert-manager', { certManager: { issuerRef: { name: 'ca' } } }, true],
    ['secrets', { existingSecrets: Object.fromEntries(PARTS.map((part) => [part, part])) }, true],
    ['off', {}, false],
  ])('in the mode %s with %j, services check the names of their clients: %j', async (mode, values, named) => {
    const manifests = await render({ files: TRIAL, values: { tls: { mode, ...values } } });
    for (const service of SERVICES)
      expect(settingsOf(manifests, service)['CRS_TLS_PEER_DOMAIN']).toBe(named ? DOMAIN : undefined);
    for (const service of SERVICES) expect(settingsOf(manifests, service)).not.toHaveProperty('CRS_TLS_FURTHER_PEERS');
  });

  test('admits further clients by name, and makes certificates for them', async () => {
    const furtherPeers = { 'rate-limit': ['envoy', 'istio'], auth: ['envoy'] };
    const manifests = await render({ files: TRIAL, values: { tls: { furtherPeers } } });
    expect(settingsOf(manifests, 'rate-limit')['CRS_TLS_FURTHER_PEERS']).toBe(`envoy.${DOMAIN},istio.${DOMAIN}`);
    expect(settingsOf(manifests, 'auth')['CRS_TLS_FURTHER_PEERS']).toBe(`envoy.${DOMAIN}`);
    expect(settingsOf(manifests, 'calls')).not.toHaveProperty('CRS_TLS_FURTHER_PEERS');
    const { resourceNames } = find(manifests, 'Role', `${NAME}-tls-renewal`).rules[0];
    expect(resourceNames.filter((name: string) => /envoy|istio/.test(name))).toEqual([
      `${NAME}-envoy-mtls`,
      `${NAME}-istio-mtls`,
    ]);
    const renewal = find(manifests, 'CronJob', `${NAME}-tls-renewal`).spec.jobTemplate.spec.template.spec.containers[0];
    expect(envOf(renewal)['CRS_CERTIFICATES']!.split(',').toSorted()).toEqual([...PARTS, 'envoy', 'istio'].toSorted());
    const large = await render({
      files: ['examples/large.yaml'],
      values: { tls: { furtherPeers: { 'rate-limit': ['envoy'] } } },
    });
    const { secretName, dnsNames } = find(large, 'Certificate', `${NAME}-envoy`).spec;
    expect(secretName).toBe(`${NAME}-envoy-tls`);
    expect(dnsNames).toContain(`envoy.${DOMAIN}`);
  });

  test.each([
    ['another release', { release: 'staging' }, 'staging-call-research.research.call-research'],
    ['the same release in another namespace', { namespace: 'staging' }, `${NAME}.staging.call-research`],
  ])('gives %s different peer names in every mode', async (_, other, domain) => {
    const modes = [
      { mode: 'self-signed' },
      { mode: 'cert-manager', certManager: { issuerRef: { name: 'ca', kind: 'ClusterIssuer' } } },
      { mode: 'secrets', existingSecrets: Object.fromEntries(PARTS.map((part) => [part, part])) },
    ];
    for (const tls of modes) {
      const manifests = await render({ files: TRIAL, values: { tls }, ...other });
      const configMaps = ofKind(manifests, 'ConfigMap').flatMap(({ data }) => data['CRS_TLS_PEER_DOMAIN'] ?? []);
      expect(new Set(configMaps)).toEqual(new Set([domain]));
      const rendered = JSON.stringify(manifests);
      expect(rendered).not.toContain(DOMAIN);
      if (tls.mode === 'self-signed')
        expect(rendered.match(/"name":"CRS_TLS_PEER_DOMAIN","value":"[^"]*"/g)).toEqual(
          Array(3).fill(`"name":"CRS_TLS_PEER_DOMAIN","value":"${domain}"`),
        );
      const certificates = ofKind(manifests, 'Certificate').map(({ spec }): string => spec.dnsNames.at(-1));
      if (tls.mode === 'cert-manager')
        expect(certificates.toSorted()).toEqual(PARTS.map((part) => `${part}.${domain}`).toSorted());
    }
  });
});
