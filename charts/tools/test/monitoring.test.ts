import { describe, expect, test } from 'vitest';
import { find, ofKind, render, type Manifest } from '../src/render.ts';

const NAME = 'crs-call-research';
const TRIAL = ['examples/trial.yaml'];
const SERVICES = ['api-gateway', 'tool-gateway', 'auth', 'calls', 'projects', 'entities', 'rate-limit'];
const SCRAPE = { scrapeTimeout: '9s', metricRelabelings: [{ action: 'drop', sourceLabels: ['__name__'], regex: 'nodejs_.*' }] };
const rulesOf = (manifests: Manifest[]) =>
  (ofKind(manifests, 'PrometheusRule')[0].spec.groups as Manifest[]).flatMap(({ rules }) => rules as Manifest[]);

test('by default the chart has no object that a cluster without the Prometheus Operator would reject', async () => {
  const manifests = await render({ files: TRIAL });
  expect(manifests.filter(({ apiVersion }) => apiVersion.startsWith('monitoring.coreos.com'))).toEqual([]);
  expect(ofKind(manifests, 'ConfigMap').filter(({ metadata }) => metadata.name.includes('dashboard'))).toEqual([]);
});

test('each service is scraped at its metrics port, with the labels that rules use', async () => {
  const manifests = await render({
    files: TRIAL,
    values: { monitoring: { podMonitor: { enabled: true, interval: '1m', labels: { release: 'p' }, ...SCRAPE } } },
  });
  const { metadata, spec } = find(manifests, 'PodMonitor', NAME);
  expect(metadata.labels).toMatchObject({ release: 'p' });
  expect(spec.podMetricsEndpoints).toMatchObject([{ port: 'ops', interval: '1m', ...SCRAPE }]);
  expect(spec.podMetricsEndpoints[0].relabelings).toContainEqual({ targetLabel: 'job', replacement: NAME });
  for (const service of SERVICES) {
    const { labels } = find(manifests, 'Deployment', `${NAME}-${service}`).spec.template.metadata;
    expect(labels).toMatchObject({ ...spec.selector.matchLabels, 'app.kubernetes.io/component': service });
  }
});

describe('rules', () => {
  test('select only the series of this installation', async () => {
    const values = { monitoring: { rules: { enabled: true, labels: { release: 'p' } } } };
    const manifests = await render({ files: TRIAL, values });
    expect(find(manifests, 'PrometheusRule', NAME).metadata.labels).toMatchObject({ release: 'p' });
    const rules = rulesOf(manifests);
    expect(rules.length).toBeGreaterThan(30);
    for (const { expr } of rules) {
      if (/kube_/.test(expr as string)) {
        const ours = /namespace="research",\w+=~"crs-call-research-(\.\+|retention)"/g;
        expect((expr as string).match(ours), expr).toHaveLength((expr as string).match(/\w\{/g)!.length);
        continue;
      }
      const selectors = (expr as string).match(/\w\{/g)!.length;
      expect((expr as string).split(`job="${NAME}",namespace="research"`), expr).toHaveLength(selectors + 1);
    }
    const other = rulesOf(await render({ release: 'other', files: TRIAL, values }));
    expect(JSON.stringify(other)).not.toContain('job=\\"crs-');
  });

  test('have the labels that values give to alerts, and lack the alerts that values disable', async () => {
    const alertsOf = async (rules: object) =>
      rulesOf(await render({ files: TRIAL, values: { monitoring: { rules: { enabled: true, ...rules } } } })).filter(
        ({ alert }) => alert,
      );
    const all = await alertsOf({});
    const disabled = ['CallResearchLatency', 'CallResearchShedding'];
    const some = await alertsOf({ alertLabels: { team: 'research' }, disabled });
    expect(some.length).toBeGreaterThan(20);
    expect(some.map(({ alert }) => alert as string)).toEqual(
      all.map(({ alert }) => alert as string).filter((alert) => !disabled.includes(alert)),
    );
    for (const { labels } of some) expect(labels).toMatchObject({ team: 'research', severity: expect.any(String) });
  });

  test('link each alert to its runbook under the given base URL', async () => {
    const urlsOf = async (runbookUrl: string) =>
      rulesOf(await render({ files: TRIAL, values: { monitoring: { rules: { enabled: true, runbookUrl } } } }))
        .filter(({ alert }) => alert === 'CallResearchShedding')
        .map(({ annotations }) => annotations.runbook_url);
    expect(await urlsOf('')).toEqual(['docs/runbooks/CallResearchShedding.md']);
    expect(await urlsOf('https://git.example/runbooks/')).toEqual(['https://git.example/runbooks/CallResearchShedding.md']);
  });
});

test('dashboards of several installations can share a Grafana, and link to the runbooks', async () => {
  const of = async (release: string, runbookUrl: string): Promise<Manifest> => {
    const values = { monitoring: { dashboards: { enabled: true }, rules: { runbookUrl } } };
    const maps = ofKind(await render({ release, files: TRIAL, values }), 'ConfigMap').filter(
      ({ data }) => data['crs-overview.json'],
    );
    return JSON.parse(maps[0].data['crs-overview.json']);
  };
  const [one, other] = [await of('crs', 'https://git.example/runbooks/'), await of('other', '')];
  expect(one.uid).toMatch(/^crs-overview-[0-9a-f]{8}$/);
  expect([other.uid, other.title]).not.toEqual([one.uid, one.title]);
  expect(one.title).toBe('Call Research / Overview (research/crs-call-research)');
  expect(one.templating.list).toContainEqual(expect.objectContaining({ name: 'job', current: { text: NAME, value: NAME } }));
  const links = (dashboard: Manifest) => (dashboard.panels as Manifest[]).flatMap((panel) => (panel.links ?? []) as Manifest[]);
  expect(links(one).map(({ url }) => url)).toContain('https://git.example/runbooks/CallResearchShedding.md');
  expect(links(other)).toEqual([]);
});

test("dashboards are ConfigMaps for Grafana's sidecar", async () => {
  const values = { monitoring: { dashboards: { enabled: true, annotations: { grafana_folder: 'Research' } } } };
  const maps = ofKind(await render({ files: TRIAL, values }), 'ConfigMap').filter(
    ({ metadata }) => metadata.labels.grafana_dashboard === '1',
  );
  expect(maps.map(({ metadata }) => metadata.name)).toEqual(
    ['database', 'imports', 'limiter', 'overview', 'service', 'tenants'].map((name) => `${NAME}-dashboard-${name}`),
  );
  for (const { metadata, data } of maps) {
    expect(metadata.annotations).toEqual({ grafana_folder: 'Research' });
    for (const text of Object.values(data as Record<string, string>)) {
      expect(JSON.parse(text)).toMatchObject({ uid: expect.stringMatching(/^crs-/), panels: expect.any(Array) });
    }
  }
});
