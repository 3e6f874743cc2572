import { describe, expect, test } from 'vitest';
import { find, ofKind, render, type Manifest } from '../src/render.ts';

const NAME = 'crs-call-research';
const TRIAL = ['examples/trial.yaml'];
const SERVICES = ['api-gateway', 'tool-gateway', 'auth', 'calls', 'projects', 'entities', 'rate-limit'];
const rulesOf = (manifests: Manifest[]) =>
  (ofKind(manifests, 'PrometheusRule')[0].spec.groups as Manifest[]).flatMap(({ rules }) => rules as Manifest[]);

test('without its values the chart has no object that a cluster without Prometheus would refuse', async () => {
  const manifests = await render({ files: TRIAL });
  expect(manifests.filter(({ apiVersion }) => apiVersion.startsWith('monitoring.coreos.com'))).toEqual([]);
  expect(ofKind(manifests, 'ConfigMap').filter(({ metadata }) => metadata.name.includes('dashboard'))).toEqual([]);
});

test('each service is scraped at its metrics port, with the labels that rules use', async () => {
  const manifests = await render({
    files: TRIAL,
    values: { monitoring: { podMonitor: { enabled: true, interval: '1m', labels: { release: 'p' } } } },
  });
  const { metadata, spec } = find(manifests, 'PodMonitor', NAME);
  expect(metadata.labels).toMatchObject({ release: 'p' });
  expect(spec.podMetricsEndpoints).toMatchObject([{ port: 'ops', interval: '1m' }]);
  expect(spec.podMetricsEndpoints[0].relabelings).toContainEqual({ targetLabel: 'job', replacement: NAME });
  for (const service of SERVICES) {
    const { labels } = find(manifests, 'Deployment', `${NAME}-${service}`).spec.template.metadata;
    expect(labels).toMatchObject({ ...spec.selector.matchLabels, 'app.kubernetes.io/component': service });
  }
});

describe('rules', () => {
  test('select this installation alone', async () => {
    const values = { monitoring: { rules: { enabled: true, labels: { release: 'p' } } } };
    const manifests = await render({ files: TRIAL, values });
    expect(find(manifests, 'PrometheusRule', NAME).metadata.labels).toMatchObject({ release: 'p' });
    const rules = rulesOf(manifests);
    expect(rules.length).toBeGreaterThan(30);
    for (const { expr } of rules) {
      const selectors = (expr as string).match(/\w\{/g)!.length;
      expect((expr as string).split(`job="${NAME}",namespace="research"`), expr).toHaveLength(selectors + 1);
    }
    const other = rulesOf(await render({ release: 'other', files: TRIAL, values }));
    expect(JSON.stringify(other)).not.toContain('job=\\"crs-');
  });

  test('link each alert to its runbook, at the given address', async () => {
    const urlsOf = async (runbookUrl: string) =>
      rulesOf(await render({ files: TRIAL, values: { monitoring: { rules: { enabled: true, runbookUrl } } } }))
        .filter(({ alert }) => alert === 'CallResearchShedding')
        .map(({ annotations }) => annotations.runbook_url);
    expect(await urlsOf('')).toEqual(['docs/runbooks/CallResearchShedding.md']);
    expect(await urlsOf('https://git.example/runbooks/')).toEqual(['https://git.example/runbooks/CallResearchShedding.md']);
  });
});

test("dashboards are ConfigMaps for Grafana's sidecar", async () => {
  const values = { monitoring: { dashboards: { enabled: true, annotations: { grafana_folder: 'Research' } } } };
  const maps = ofKind(await render({ files: TRIAL, values }), 'ConfigMap').filter(
    ({ metadata }) => metadata.labels.grafana_dashboard === '1',
  );
  expect(maps.map(({ metadata }) => metadata.name)).toEqual(
    ['database', 'imports', 'limiter', 'overview', 'service'].map((name) => `${NAME}-dashboard-${name}`),
  );
  for (const { metadata, data } of maps) {
    expect(metadata.annotations).toEqual({ grafana_folder: 'Research' });
    for (const text of Object.values(data as Record<string, string>)) {
      expect(JSON.parse(text)).toMatchObject({ uid: expect.stringMatching(/^crs-/), panels: expect.any(Array) });
    }
  }
});
