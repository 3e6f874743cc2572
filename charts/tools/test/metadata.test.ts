import { describe, expect, test } from 'vitest';
import { find, ofKind, pods, render } from '../src/render.ts';

const NAME = 'crs-call-research';
const SELECTORS = ['name', 'instance', 'component'].map((name) => `app.kubernetes.io/${name}`);
const refusal = (values: object) => expect(render({ files: ['examples/trial.yaml'], values })).rejects;

describe('labels of your own', () => {
  // The parser rejects a repeated key, as Kustomize does.
  test("replace the chart's, and those of one pod replace those of all objects", async () => {
    const commonLabels = { 'app.kubernetes.io/part-of': 'platform', team: 'research', grafana_dashboard: '2' };
    const monitoring = { podMonitor: { labels: { team: 'metrics' } }, rules: { labels: { team: 'alerts' } } };
    const defaults = { podLabels: { team: 'pods', 'app.kubernetes.io/version': 'ours' } };
    const manifests = await render({ files: ['ci/everything.yaml'], values: { commonLabels, monitoring, defaults } });
    for (const { kind, metadata } of manifests) {
      if (metadata.name === 'crs-further') continue;
      const team = { PodMonitor: 'metrics', PrometheusRule: 'alerts' }[kind as string] ?? 'research';
      expect([kind, metadata.name, metadata.labels]).toMatchObject([
        kind,
        metadata.name,
        { team, 'app.kubernetes.io/part-of': 'platform' },
      ]);
    }
    for (const { metadata } of pods(manifests))
      expect(metadata.labels).toMatchObject({ team: 'pods', 'app.kubernetes.io/version': 'ours' });
    expect(find(manifests, 'ConfigMap', 'crs-dashboard-overview').metadata.labels.grafana_dashboard).toBe('1');
  });

  test.each(SELECTORS)('may not be %s, which selectors use', async (label) => {
    await refusal({ commonLabels: { [label]: 'x' } }).toThrow('/commonLabels');
    await refusal({ defaults: { podLabels: { [label]: 'x' } } }).toThrow('/defaults/podLabels');
    await refusal({ services: { calls: { podLabels: { [label]: 'x' } } } }).toThrow('/services/calls/podLabels');
  });

  test('and annotations are also on the Secrets that the install Job creates', async () => {
    const values = { commonLabels: { team: 'research' }, commonAnnotations: { owner: 'ann' } };
    const { spec } = find(await render({ files: ['examples/trial.yaml'], values }), 'Job', `${NAME}-install`).spec.template;
    const env = Object.fromEntries(
      (spec.containers[0].env as { name: string; value: string }[]).map((each) => [each.name, each.value]),
    );
    expect(JSON.parse(env['CRS_SECRET_LABELS']!)).toEqual({
      team: 'research',
      'app.kubernetes.io/name': 'call-research',
      'app.kubernetes.io/instance': 'crs',
      'app.kubernetes.io/component': 'install',
    });
    expect(JSON.parse(env['CRS_SECRET_ANNOTATIONS']!)).toEqual({ owner: 'ann' });
  });
});

test.each(['examples/production.yaml', 'examples/large.yaml', 'ci/everything.yaml'])(
  'every object of %s names its namespace, so that plain manifests need no option of kubectl',
  async (file) => {
    for (const { kind, metadata } of await render({ files: [file], namespace: 'elsewhere' }))
      if (metadata.name !== 'crs-further')
        expect([kind, metadata.name, metadata.namespace]).toEqual([kind, metadata.name, 'elsewhere']);
  },
);

test('a release whose name is a number has selectors of strings', async () => {
  const manifests = await render({ files: ['examples/trial.yaml'], release: '7', values: { fullnameOverride: 'seven' } });
  for (const { spec } of ofKind(manifests, 'Deployment'))
    expect(spec.selector.matchLabels['app.kubernetes.io/instance']).toBe('7');
});
