import { parser } from '@prometheus-io/lezer-promql';

/** A metric that an expression selects. */
export interface Selector {
  metric: string;
  matchers: { label: string; operator: string; value: string }[];
}

/** How a PromQL expression uses metrics. */
export interface MetricUse {
  selectors: Selector[];
  /** Labels by which the results are grouped. */
  grouped: string[];
}

/** @throws Error if the text isn't PromQL. Grafana's variable `$__rate_interval` counts as a duration. */
export function readExpression(expression: string): MetricUse {
  const text = expression.replaceAll('$__rate_interval', '5m');
  const use: MetricUse = { selectors: [], grouped: [] };
  parser.parse(text).iterate({
    enter: ({ node }) => {
      const textOf = (child: string) => {
        const found = node.getChild(child);
        return found ? text.slice(found.from, found.to) : '';
      };
      if (node.type.isError) throw new Error(`No PromQL at character ${node.from}: ${text}`);
      if (node.name === 'VectorSelector') use.selectors.push({ metric: textOf('Identifier'), matchers: [] });
      if (node.name === 'UnquotedLabelMatcher') {
        const [label, operator, value] = [textOf('LabelName'), textOf('MatchOp'), JSON.parse(textOf('StringLiteral')) as string];
        use.selectors.at(-1)!.matchers.push({ label, operator, value });
      }
      if (node.name === 'GroupingLabels') {
        use.grouped.push(...node.getChildren('LabelName').map(({ from, to }) => text.slice(from, to)));
      }
    },
  });
  return use;
}

type Labels = Record<string, string>;
/** The label sets of each metric, by their text in the response of `/metrics`. */
export type Known = Map<string, Map<string, Labels>>;

export function readScrape(text: string, known: Known): void {
  for (const line of text.split('\n')) {
    const [, metric, labels = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (metric === undefined) continue;
    const series = known.get(metric) ?? new Map<string, Labels>();
    known.set(metric, series);
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, value]) => [label!, value!]);
    series.set(labels, Object.fromEntries(pairs) as Labels);
  }
}

/** Labels that Prometheus adds to every series of a target. */
const TARGET_LABELS = ['job', 'namespace', 'service', 'instance'];
/** Metrics of Prometheus itself and of the cluster, with their labels. */
const CLUSTER_METRICS = new Map([
  ['up', []],
  ['container_cpu_usage_seconds_total', ['pod', 'container']],
  ['container_memory_working_set_bytes', ['pod', 'container']],
  ['kube_pod_container_status_restarts_total', ['pod', 'container']],
  ['kube_job_failed', ['job_name', 'condition']],
  ['kube_cronjob_status_last_successful_time', ['cronjob']],
  ['kube_cronjob_created', ['cronjob']],
  ['kube_horizontalpodautoscaler_status_current_replicas', ['horizontalpodautoscaler']],
  ['kube_horizontalpodautoscaler_status_desired_replicas', ['horizontalpodautoscaler']],
  ['kube_horizontalpodautoscaler_spec_max_replicas', ['horizontalpodautoscaler']],
]);

/**
 * Lists the metrics, labels and values of an expression that don't exist.
 * @param recorded metrics that recording rules create, with their labels
 * @param displayed labels of the results that a legend or a text refers to
 */
export function unknowns(expression: string, known: Known, recorded: Map<string, string[]>, displayed: string[] = []): string[] {
  const { selectors, grouped } = readExpression(expression);
  const problems: string[] = [];
  const labels = new Set(TARGET_LABELS);
  for (const { metric, matchers } of selectors) {
    const series = known.get(metric)?.values().toArray();
    const others = recorded.get(metric) ?? CLUSTER_METRICS.get(metric);
    if (!series && !others) {
      problems.push(`no metric ${metric}`);
      continue;
    }
    const own = new Set([...(series ?? []).flatMap((each) => Object.keys(each)), ...(others ?? [])]);
    own.forEach((label) => labels.add(label));
    const checked = matchers.filter(({ label }) => !TARGET_LABELS.includes(label));
    const missing = checked.filter(({ label }) => !own.has(label));
    problems.push(...missing.map(({ label }) => `${metric} has no label ${label}`));
    if (series && missing.length === 0 && !series.some((each) => checked.every((matcher) => matches(each, matcher)))) {
      problems.push(`no ${metric} has ${checked.map(({ label, operator, value }) => `${label}${operator}"${value}"`).join(',')}`);
    }
  }
  if (selectors.length === 0) problems.push('it asks for no metric');
  for (const label of grouped) if (!labels.has(label)) problems.push(`none of its metrics has a label ${label} to group by`);
  const left = new Set(grouped.length > 0 ? grouped : labels);
  for (const label of displayed) if (!left.has(label)) problems.push(`its results have no label ${label}`);
  return problems;
}

function matches(series: Labels, { label, operator, value }: Selector['matchers'][number]): boolean {
  const actual = series[label] ?? '';
  const isEqual = operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(actual) : actual === value;
  return isEqual !== operator.startsWith('!');
}
