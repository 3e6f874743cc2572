import {
  BigValueColorMode,
  BigValueGraphMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableRefresh,
  VariableSort,
  type Dashboard,
  type DashboardLink,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder, type Dataquery } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as LinesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { PANELS, RUNBOOKS } from './runbooks.ts';

/** A PromQL expression and the legend of its series, in which `{{label}}` stands for the value of a label. */
export type Query = readonly [expr: string, legend: string];

/** The selector of the metrics of the chosen installation. */
export const CHOSEN = 'job="$job",namespace=~"$namespace"';
/** The selector of the metrics of the chosen services. */
export const OF_SERVICE = `${CHOSEN},service=~"$service"`;

/** Returns the expression of a histogram's quantile, with one series for each value of the labels in `by`. */
export const quantile = (q: number, histogram: string, selector: string, by?: string) =>
  `histogram_quantile(${q}, sum by (${by ? `le, ${by}` : 'le'}) (rate(${histogram}_bucket{${selector}}[$__rate_interval])))`;

const TAG = 'call-research';
/** Not created by the SDK's link builder, which would hide the link in a menu. */
const LINK: DashboardLink = {
  title: 'Call Research',
  type: DashboardLinkType.Dashboards,
  icon: '',
  tooltip: '',
  tags: [TAG],
  asDropdown: true,
  targetBlank: false,
  includeVars: true,
  keepTime: true,
};
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

function panel<B extends StatBuilder | LinesBuilder>(builder: B, title: string, unit: string, description: string): B {
  builder.title(title).unit(unit).description(description).datasource(DATASOURCE).min(0).height(8).span(8);
  return builder;
}

const target = ([expr, legend]: Query, index: number) =>
  new DataqueryBuilder()
    .refId(String.fromCharCode(65 + index))
    .datasource(DATASOURCE)
    .expr(expr)
    .legendFormat(legend);

/** A graph over a third of the page's width. @param description what the graph shows, and which values are normal */
export function lines(title: string, unit: string, description: string, ...queries: Query[]): LinesBuilder {
  return panel(new LinesBuilder(), title, unit, description)
    .fillOpacity(10)
    .lineWidth(1)
    .showPoints(VisibilityMode.Never)
    .legend(new VizLegendOptionsBuilder().showLegend(true).displayMode(LegendDisplayMode.List).placement(LegendPlacement.Bottom))
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
    .targets(queries.map((query, index) => target(query, index).range()));
}

/** A graph over half of the page's width. */
export const wide = (...args: Parameters<typeof lines>): LinesBuilder => lines(...args).span(12);

/** A graph whose series are stacked. */
export function stacked(...args: Parameters<typeof lines>): LinesBuilder {
  return lines(...args)
    .fillOpacity(40)
    .stacking(new StackingConfigBuilder().mode(StackingMode.Normal));
}

/** The latest value of each series, over a quarter of the page's width: red below `threshold`, otherwise green. */
export function stat(title: string, unit: string, description: string, threshold: number, query: Query): StatBuilder {
  const steps = [
    { color: 'red', value: null },
    { color: 'green', value: threshold },
  ];
  return panel(new StatBuilder(), title, unit, description)
    .span(6)
    .thresholds(new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps))
    .colorMode(BigValueColorMode.Background)
    .graphMode(BigValueGraphMode.None)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .withTarget(target(query, 0).instant());
}

/** Returns the link to an alert's runbook. The chart prepends the base URL to its path. */
const runbookLink = (alert: string): DashboardLink => ({
  ...LINK,
  title: `Runbook ${alert}`,
  type: DashboardLinkType.Link,
  url: `${RUNBOOKS}${alert}.md`,
  tags: [],
  asDropdown: false,
  targetBlank: true,
  includeVars: false,
  keepTime: false,
});

const variable = (name: string, label: string, query: string) =>
  new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .definition(query)
    .query({ query, refId: name })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);

/** Returns a variable with the choice "All". Its `.*` also matches series without the label: under Compose they have no namespace. */
const variableWithAll = (name: string, label: string, query: string) =>
  variable(name, label, query)
    .includeAll(true)
    .multi(true)
    .allValue('.*')
    .current({ text: ['All'], value: ['$__all'] });

/**
 * Returns a dashboard in Grafana's import format.
 * @param rows panels by the title of their row
 * @param choosesService whether the page offers the variable `$service`
 */
export function dashboard(
  uid: string,
  title: string,
  description: string,
  rows: [title: string, panels: (StatBuilder | LinesBuilder)[]][],
  choosesService = false,
): Dashboard {
  const builder = new DashboardBuilder(`Call Research / ${title}`)
    .uid(uid)
    .description(description)
    .tags([TAG])
    .tooltip(DashboardCursorSync.Crosshair)
    .refresh('30s')
    .time({ from: 'now-1h', to: 'now' })
    .timezone('')
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(variable('job', 'Installation', 'label_values(crs_ready, job)'))
    .withVariable(variableWithAll('namespace', 'Namespace', 'label_values(crs_ready{job="$job"}, namespace)'))
    .annotations([])
    .link({ build: () => LINK });
  if (choosesService) {
    builder.withVariable(variableWithAll('service', 'Service', `label_values(crs_ready{${CHOSEN}}, service)`));
  }
  for (const [rowTitle, panels] of rows) {
    builder.withRow(new RowBuilder(rowTitle));
    for (const each of panels) {
      const alerts = PANELS[uid]?.[each.build().title!] ?? [];
      builder.withPanel(each.links(alerts.map((alert) => ({ build: () => runbookLink(alert) }))));
    }
  }
  return builder.build();
}

/** Lists the queries that a dashboard sends to Prometheus. */
export function queriesOf({ panels = [] }: Dashboard): { panel: string; expr: string; legend: string }[] {
  return panels.flatMap(({ title = '', ...rest }) =>
    'targets' in rest
      ? (rest.targets as Dataquery[]).map(({ expr, legendFormat = '' }) => ({ panel: title, expr, legend: legendFormat }))
      : [],
  );
}
