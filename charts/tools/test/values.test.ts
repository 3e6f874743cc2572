import { describe, expect, test } from 'vitest';
import { find, ofKind, pods, render, type Manifest } from '../src/render.ts';

const NAME = 'crs-call-research';
const TRIAL = ['examples/trial.yaml'];
const EACH_BUT_CRS = Object.fromEntries(
  ['api-gateway', 'tool-gateway', 'auth', 'calls', 'projects', 'entities', 'rate-limit'].map((name) => [name, `tls-of-${name}`]),
);
const refusal = (values: object, files = TRIAL) => expect(render({ files, values })).rejects;

describe('rendering fails, and names the value to set, without', () => {
  test.each([
    ['publicUrls.api', { publicUrls: { api: '' } }],
    ['publicUrls.tools', { publicUrls: { tools: '' } }],
    ['database.existingSecret', { database: { existingSecret: '' } }],
    ['redis.existingSecret', { redis: { existingSecret: '' } }],
    ['trustedProxies', { ingress: { enabled: true }, publicUrls: { api: 'https://a.example', tools: 'https://b.example' } }],
    [
      'gateway.parentRefs',
      { gateway: { enabled: true }, trustedProxies: [], publicUrls: { api: 'https://a.x', tools: 'https://b.x' } },
    ],
    ['tls.certManager.issuerRef.name', { tls: { mode: 'cert-manager' } }],
    ['tls.existingSecrets.api-gateway', { tls: { mode: 'secrets' } }],
    ['tls.existingSecrets.crs', { tls: { mode: 'secrets', existingSecrets: EACH_BUT_CRS } }],
  ])('%s', async (name, values) => {
    await refusal(values).toThrow(new RegExp(`: Set ${name.replaceAll('.', '\\.')} to `));
  });
});

describe('rendering rejects', () => {
  test.each([
    ['an unknown value', { replicas: 3 }, "additional properties 'replicas' not allowed"],
    ['a pod field that the chart itself sets', { defaults: { podSpec: { containers: [] } } }, '/defaults/podSpec'],
    [
      'a service without a certificate Secret',
      { tls: { mode: 'secrets' } },
      'the DNS names api-gateway.crs-call-research.research.call-research and crs-call-research-api-gateway.',
    ],
    [
      'pods without a ServiceAccount',
      { services: { calls: { serviceAccount: { create: false } } } },
      'Set serviceAccount.name, of defaults or calls, to a ServiceAccount that exists, or serviceAccount.create to true.',
    ],
    [
      'two ServiceAccounts of the same name',
      { toolbox: { pod: { serviceAccount: { name: 'a' } } }, services: { auth: { serviceAccount: { name: 'a' } } } },
      'Give toolbox.pod another serviceAccount.name than auth',
    ],
    [
      'an account of services for the install Job',
      { defaults: { serviceAccount: { create: false, name: 'given' } } },
      'Set install.pod.serviceAccount.name to another account than given',
    ],
    [
      'an account of services for the certificate renewal',
      {
        defaults: { serviceAccount: { create: false, name: 'given' } },
        install: { pod: { serviceAccount: { name: 'installer' } } },
      },
      'Set renewal.pod.serviceAccount.name to another account than given',
    ],
    ['a value that has no effect on the install Job', { install: { pod: { resources: {} } } }, '/install/pod'],
    ['a value that has no effect on the certificate renewal', { renewal: { pod: { env: {} } } }, '/renewal/pod'],
    ['a value that has no effect on the toolbox', { toolbox: { pod: { logLevel: 'debug' } } }, '/toolbox/pod'],
    ['a registry outside image.repository', { image: { registry: 'registry.example.com' } }, '/image'],
    ['one certificate for all services', { tls: { mode: 'shared-secret' } }, '/tls/mode'],
    [
      'a source of certificates of two kinds',
      { trustedCertificates: [{ configMap: 'a', secret: 'b' }] },
      '/trustedCertificates/0',
    ],
    [
      'an unknown alert',
      { monitoring: { rules: { enabled: true, disabled: ['CallResearchLate'] } } },
      'monitoring.rules.disabled: there is no alert CallResearchLate.',
    ],
    ['an unknown address family', { defaults: { service: { ipFamilies: ['IPv5'] } } }, '/defaults/service/ipFamilies/0'],
    ['an unknown value of a service', { services: { calls: { replica: 3 } } }, "additional properties 'replica' not allowed"],
    ['an unknown service', { services: { call: {} } }, "additional properties 'call' not allowed"],
    ['a path in an origin', { publicUrls: { api: 'https://api.example/v1' } }, '/publicUrls/api'],
    ['a password outside a Secret', { database: { serviceUrl: 'postgres://u:p@host/db' } }, '/database/serviceUrl'],
    ['a separate database server for auth', { database: { apart: { auth: { existingSecret: 'a' } } } }, '/database/apart'],
    [
      'a separate database server without a Secret',
      { database: { apart: { calls: { key: 'URL' } } } },
      "missing property 'existingSecret'",
    ],
    ['a trusted proxy that is not a network', { trustedProxies: ['the load balancer'] }, '/trustedProxies/0'],
    ['a job without arguments', { jobs: { a: {} } }, "missing property 'args'"],
    ['a job whose name is too long', { jobs: { ['a'.repeat(40)]: { args: ['status'] } } }, 'at most 52 characters'],
    ['both ingress and gateway', { ingress: { enabled: true }, gateway: { enabled: true } }, 'either ingress or gateway'],
    ['one host for both origins', { ingress: { enabled: true }, trustedProxies: [] }, 'different hosts'],
    ['an unknown mode of TLS', { tls: { mode: 'on' } }, '/tls/mode'],
    [
      'an issuer in another mode',
      { tls: { mode: 'off', certManager: { issuerRef: { name: 'ca' } } } },
      "Set tls.mode to cert-manager, or remove tls.certManager.issuerRef.name: the mode off doesn't use it",
    ],
    [
      'Secrets in another mode',
      { tls: { existingSecrets: { auth: 'a' } } },
      'Set tls.mode to secrets, or remove tls.existingSecrets',
    ],
    ['a Secret of an unknown service', { tls: { mode: 'secrets', existingSecrets: { call: 'a' } } }, '/tls/existingSecrets'],
    [
      'further peers in a mode that does not check the names of clients',
      { tls: { mode: 'off', furtherPeers: { 'rate-limit': ['envoy'] } } },
      'Set tls.mode to self-signed, cert-manager or secrets, or remove tls.furtherPeers',
    ],
    ['further peers of a gateway', { tls: { furtherPeers: { 'api-gateway': ['envoy'] } } }, '/tls/furtherPeers'],
    [
      'a Service of type LoadBalancer, which extraObjects can have',
      { defaults: { service: { type: 'LoadBalancer' } } },
      '/defaults/service/type',
    ],
  ])('%s', async (_, values, message) => {
    await refusal(values).toThrow(message);
  });

  test('more database connections than PostgreSQL allows, including those of surge pods in an upgrade', async () => {
    const values = (maxConnections: number) => ({
      database: { maxConnections },
      services: { auth: { replicaCount: 0 }, entities: { replicaCount: 0 }, calls: { replicaCount: 4, databaseConnections: 10 } },
    });
    // calls opens (4 + 1) x (10 + 3) connections, projects (1 + 1) x (8 + 3).
    await refusal(values(86)).toThrow(
      '87 connections to PostgreSQL would be open (auth 0 x 8, calls 5 x 13, entities 0 x 11, projects 2 x 11)',
    );
    await expect(render({ files: TRIAL, values: values(87) })).resolves.toBeDefined();
    for (const by of ['enabled', 'external']) {
      const autoscaling = { [by]: true, maxReplicas: 80 };
      const defaults = { autoscaling, resources: { requests: { cpu: 1 } } };
      await refusal({ ...values(1000), defaults }).toThrow('calls 100 x 13');
    }
    const apart = { ...values(22), database: { maxConnections: 22, apart: { calls: { existingSecret: 'of-calls' } } } };
    await expect(render({ files: TRIAL, values: apart })).resolves.toBeDefined();
  });
});

describe('access from outside', () => {
  test('uses an Ingress for each origin', async () => {
    const manifests = await render({ files: ['examples/aks.yaml'] });
    for (const [service, host] of [
      ['api-gateway', 'api.research.example.com'],
      ['tool-gateway', 'tools.research.example.com'],
    ]) {
      const { spec } = find(manifests, 'Ingress', `${NAME}-${service}`);
      expect(spec.tls).toEqual([{ hosts: [host], secretName: host!.replaceAll('.', '-') }]);
      const backend = { service: { name: `${NAME}-${service}`, port: { name: 'http' } } };
      expect(spec.rules).toEqual([{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }]);
      expect(find(manifests, 'ConfigMap', `${NAME}-${service}`).data.CRS_TRUSTED_PROXIES).toBe('10.244.0.0/16');
    }
    expect(ofKind(manifests, 'HTTPRoute')).toEqual([]);
  });

  test('can use an HTTPRoute for each origin', async () => {
    const manifests = await render({ files: ['examples/large.yaml'] });
    expect(find(manifests, 'HTTPRoute', `${NAME}-tool-gateway`).spec).toEqual({
      parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
      hostnames: ['tools.research.example.com'],
      rules: [{ backendRefs: [{ name: `${NAME}-tool-gateway`, port: 80 }] }],
    });
    expect(ofKind(manifests, 'Ingress')).toEqual([]);
  });

  test('can be left to the user, and then no proxy is trusted', async () => {
    const manifests = await render({ files: TRIAL });
    expect(manifests.filter(({ kind }) => kind === 'Ingress' || kind === 'HTTPRoute')).toEqual([]);
    expect(find(manifests, 'ConfigMap', `${NAME}-api-gateway`).data).not.toHaveProperty('CRS_TRUSTED_PROXIES');
  });
});

describe('ServiceAccounts', () => {
  const accountsOf = (manifests: Manifest[]) =>
    new Map(pods(manifests).map(({ name, spec }) => [name.replace(`${NAME}-`, ''), spec.serviceAccountName as string]));
  const createdAccounts = (manifests: Manifest[]) =>
    ofKind(manifests, 'ServiceAccount').map(({ metadata }) => metadata.name as string);
  const boundAccounts = (manifests: Manifest[]) =>
    ofKind(manifests, 'RoleBinding').map(({ subjects }) => subjects[0].name as string);

  test('have the names that values give them', async () => {
    const manifests = await render({
      files: TRIAL,
      values: {
        services: { calls: { serviceAccount: { name: 'caller' } } },
        install: { pod: { serviceAccount: { name: 'installer', annotations: { a: 'b' } } } },
      },
    });
    const accounts = accountsOf(manifests);
    expect([accounts.get('calls'), accounts.get('auth')]).toEqual(['caller', `${NAME}-auth`]);
    expect([accounts.get('install'), accounts.get('tls-renewal')]).toEqual(['installer', `${NAME}-tls-renewal`]);
    expect(createdAccounts(manifests)).toEqual(expect.arrayContaining([...new Set(accounts.values())]));
    expect(boundAccounts(manifests)).toEqual(['installer-again', `${NAME}-tls-renewal`, 'installer']);
    expect(find(manifests, 'ServiceAccount', 'installer').metadata.annotations).toMatchObject({
      a: 'b',
      'helm.sh/hook-weight': '-10',
    });
  });

  test('can all be existing ones', async () => {
    const manifests = await render({
      files: TRIAL,
      values: {
        defaults: { serviceAccount: { create: false, name: 'given' } },
        install: { pod: { serviceAccount: { name: 'installer' } } },
        renewal: { pod: { serviceAccount: { name: 'renewer' } } },
      },
    });
    expect(createdAccounts(manifests)).toEqual([]);
    const accounts = [...accountsOf(manifests)].map(([part, account]) =>
      /install|renewal/.test(part) ? `of jobs: ${account}` : account,
    );
    expect(new Set(accounts)).toEqual(new Set(['given', 'of jobs: installer', 'of jobs: renewer']));
    expect(boundAccounts(manifests)).toEqual(['installer', 'renewer', 'installer']);
  });
});

describe('address families', () => {
  const listeners = async (service: object) => {
    const manifests = await render({ files: TRIAL, values: { defaults: { service } } });
    const { data } = find(manifests, 'ConfigMap', `${NAME}-auth`);
    const listen = Object.entries(data).filter(([name]) => name.endsWith('_LISTEN'));
    return { listen, services: ofKind(manifests, 'Service').map(({ spec }) => [spec.ipFamilyPolicy, spec.ipFamilies]) };
  };
  const at = (host: string) => [
    ['CRS_ADMIN_LISTEN', `${host}:50052`],
    ['CRS_HEALTH_LISTEN', `${host}:50053`],
    ['CRS_HTTP_LISTEN', `${host}:8082`],
    ['CRS_LISTEN', `${host}:50051`],
    ['CRS_OPS_LISTEN', `${host}:9090`],
  ];

  test.each<[{ ipFamilyPolicy?: string; ipFamilies?: string[] }, string]>([
    [{}, '0.0.0.0'],
    [{ ipFamilies: ['IPv4'] }, '0.0.0.0'],
    [{ ipFamilyPolicy: 'SingleStack' }, '0.0.0.0'],
    [{ ipFamilies: ['IPv6'] }, '[::]'],
    [{ ipFamilyPolicy: 'PreferDualStack' }, '[::]'],
    [{ ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] }, '[::]'],
  ])('%j: pods listen at %s', async (service, host) => {
    const { listen, services } = await listeners(service);
    expect(listen).toEqual(at(host));
    expect(services).toHaveLength(10);
    for (const each of services) expect(each).toEqual([service.ipFamilyPolicy, service.ipFamilies]);
  });
});

test('commonAnnotations are added to those of every object, but not to pods', async () => {
  const values = { commonAnnotations: { team: 'research', 'reloader.stakater.com/auto': 'false' } };
  for (const file of ['ci/everything.yaml', 'examples/production.yaml', 'examples/large.yaml', 'examples/plain-manifests.yaml']) {
    const [annotated, plain] = await Promise.all([render({ files: [file], values }), render({ files: [file] })]);
    for (const [at, { kind, metadata }] of annotated.entries()) {
      const own = plain[at]!.metadata.annotations;
      const expected = metadata.name === 'crs-further' ? own : { ...values.commonAnnotations, ...own };
      expect([kind, metadata.name, metadata.annotations]).toEqual([kind, metadata.name, expected]);
    }
    for (const { metadata } of pods(annotated)) expect(metadata.annotations ?? {}).not.toHaveProperty('team');
  }
});

test('Deployments keep five old ReplicaSets, or as many as revisionHistoryLimit', async () => {
  const limits = async (values: object) =>
    new Set(ofKind(await render({ files: TRIAL, values }), 'Deployment').map(({ spec }) => spec.revisionHistoryLimit));
  expect(await limits({})).toEqual(new Set([5]));
  expect(await limits({ defaults: { revisionHistoryLimit: 0 } })).toEqual(new Set([0]));
});
