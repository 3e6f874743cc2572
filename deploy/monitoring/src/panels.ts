/** Grafana's dashboards, as far as they are written here. */

/** Each expression with the legend of its series. */
export type Query = readonly [expr: string, legend: string];

export interface Panel {
  type: 'timeseries' | 'stat';
  title: string;
  /** What it shows, and what is normal, for who sees it for the first time. */
  description: string;
  unit: string;
  queries: Query[];
  /** Of 24. */
  width?: number;
  stacked?: boolean;
  max?: number;
  /** From which value on a stat is red, or below which, if `isGoodAbove`. */
  threshold?: { value: number; isGoodAbove: boolean };
}

export interface Dashboard {
  uid: string;
  title: string;
  description: string;
  /** Whether a service is chosen. */
  hasService?: boolean;
  /** Rows by their titles. */
  rows: [title: string, panels: Panel[]][];
}

/** What of one installation a dashboard shows. */
export const CHOSEN = 'job="$job",namespace=~"$namespace"';
export const OF_SERVICE = `${CHOSEN},service=~"$service"`;

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
const HEIGHT = 8;

function variable(name: string, label: string, query: string, more: object = {}) {
  return {
    type: 'query',
    name,
    label,
    datasource: DATASOURCE,
    definition: query,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    ...more,
  };
}

const ALL = { includeAll: true, multi: true, allValue: '.*', current: { text: ['All'], value: ['$__all'] } };

function variables(hasService: boolean) {
  return [
    { type: 'datasource', name: 'datasource', label: 'Data source', query: 'prometheus', current: {} },
    variable('job', 'Installation', 'label_values(crs_ready, job)'),
    // Where there are no namespaces, as under Compose, All matches that there is none.
    variable('namespace', 'Namespace', 'label_values(crs_ready{job="$job"}, namespace)', ALL),
    ...(hasService
      ? [variable('service', 'Service', 'label_values(crs_ready{job="$job",namespace=~"$namespace"}, service)', ALL)]
      : []),
  ];
}

function thresholds({ value, isGoodAbove }: { value: number; isGoodAbove: boolean }) {
  const [first, then] = isGoodAbove ? ['red', 'green'] : ['green', 'red'];
  return {
    mode: 'absolute',
    steps: [
      { color: first, value: null },
      { color: then, value },
    ],
  };
}

function panelJson({ type, title, description, unit, queries, stacked, max, threshold }: Panel) {
  return {
    type,
    title,
    description,
    datasource: DATASOURCE,
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat,
      ...(type === 'stat' ? { instant: true, range: false } : { instant: false, range: true }),
    })),
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        ...(max !== undefined && { max }),
        ...(threshold && { thresholds: thresholds(threshold) }),
        ...(type === 'timeseries' && {
          custom: {
            fillOpacity: stacked ? 40 : 10,
            lineWidth: 1,
            showPoints: 'never',
            stacking: { mode: stacked ? 'normal' : 'none' },
          },
        }),
      },
      overrides: [],
    },
    options:
      type === 'stat'
        ? {
            reduceOptions: { calcs: ['lastNotNull'] },
            colorMode: threshold ? 'background' : 'value',
            graphMode: 'none',
            textMode: 'auto',
          }
        : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
  };
}

/** The dashboard as Grafana imports it. */
export function dashboardJson({ uid, title, description, hasService = false, rows }: Dashboard) {
  const panels: object[] = [];
  let y = 0;
  const place = (panel: object, x: number, w: number, h: number) =>
    panels.push({ id: panels.length + 1, ...panel, gridPos: { x, y, w, h } });
  for (const [rowTitle, rowPanels] of rows) {
    place({ type: 'row', title: rowTitle, collapsed: false, panels: [] }, 0, 24, 1);
    y += 1;
    let x = 0;
    for (const panel of rowPanels) {
      const width = panel.width ?? 8;
      if (x + width > 24) {
        x = 0;
        y += HEIGHT;
      }
      place(panelJson(panel), x, width, HEIGHT);
      x += width;
    }
    y += HEIGHT;
  }
  return {
    uid,
    title: `Call Research / ${title}`,
    description,
    tags: ['call-research'],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    timezone: '',
    templating: { list: variables(hasService) },
    links: [
      {
        type: 'dashboards',
        title: 'Call Research',
        tags: ['call-research'],
        asDropdown: true,
        includeVars: true,
        keepTime: true,
      },
    ],
    annotations: { list: [] },
    panels,
  };
}
