/** A metric as an expression asks for it. */
export interface Selector {
  metric: string;
  matchers: { label: string; operator: string; value: string }[];
}

/** What an expression of PromQL asks for: enough of its grammar for the expressions here. */
export interface Asked {
  selectors: Selector[];
  /** Labels that results are grouped by. */
  grouped: string[];
}

const WORDS = new Set(
  'by without on ignoring group_left group_right and or unless offset bool sum min max avg count topk bottomk Inf NaN'.split(' '),
);
const MATCHERS = /\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}/;

export function readExpression(expression: string): Asked {
  const grouped: string[] = [];
  const withoutGroups = expression.replace(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g, (_, labels: string) => {
    grouped.push(...labels.split(',').map((label) => label.trim()));
    return ' ';
  });
  const selectors: Selector[] = [];
  const one = new RegExp(
    `([a-zA-Z_:][a-zA-Z0-9_:]*)\\s*(?:${MATCHERS.source}|(\\())?|"(?:[^"\\\\]|\\\\.)*"|\\[[^\\]]*\\]|\\d[\\w.]*`,
    'g',
  );
  for (const [, metric, matchers, call] of withoutGroups.matchAll(one)) {
    if (metric === undefined || call !== undefined || WORDS.has(metric)) continue;
    const found = [...(matchers ?? '').matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"/g)];
    selectors.push({
      metric,
      matchers: found.map(([, label, operator, value]) => ({
        label: label!,
        operator: operator!,
        value: value!.replaceAll('\\\\', '\\'),
      })),
    });
  }
  return { selectors, grouped };
}

/** Metrics with their labels and the values of these, from what `/metrics` answers. */
export type Known = Map<string, Map<string, Set<string>>>;

export function readScrape(text: string, known: Known): void {
  for (const line of text.split('\n')) {
    const [, metric, labels] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (metric === undefined) continue;
    const values = known.get(metric) ?? new Map<string, Set<string>>();
    known.set(metric, values);
    for (const [, label, value] of (labels ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      values.set(label!, (values.get(label!) ?? new Set()).add(value!));
    }
  }
}

/** What Prometheus adds to everything that it reads from a target. */
const OF_TARGETS = ['job', 'namespace', 'service', 'instance'];
/** Metrics that are not ours: of Prometheus, and of the cluster, where it has them. */
const FOREIGN = new Map([
  ['up', []],
  ['container_cpu_usage_seconds_total', ['pod', 'container']],
  ['container_memory_working_set_bytes', ['pod', 'container']],
  ['kube_pod_container_status_restarts_total', ['pod', 'container']],
]);

/**
 * What an expression asks for that nobody emits: metrics, labels, values of labels.
 * @param recorded metrics that rules record, with their labels
 * @param shown labels that a legend or a text shows of the results
 */
export function unknowns(expression: string, known: Known, recorded: Map<string, string[]>, shown: string[] = []): string[] {
  const { selectors, grouped } = readExpression(expression);
  const problems: string[] = [];
  const labels = new Set(OF_TARGETS);
  for (const { metric, matchers } of selectors) {
    const values = known.get(metric);
    const others = recorded.get(metric) ?? FOREIGN.get(metric);
    if (!values && !others) {
      problems.push(`no metric ${metric}`);
      continue;
    }
    const own = new Set([...(values?.keys() ?? []), ...(others ?? [])]);
    own.forEach((label) => labels.add(label));
    for (const { label, operator, value } of matchers) {
      if (OF_TARGETS.includes(label)) continue;
      if (!own.has(label)) problems.push(`${metric} has no label ${label}`);
      else if (values && operator.startsWith('=') && !matches(values.get(label)!, operator, value)) {
        problems.push(`${metric} has no ${label}${operator}"${value}"`);
      }
    }
  }
  if (selectors.length === 0) problems.push('it asks for no metric');
  for (const label of grouped) if (!labels.has(label)) problems.push(`none of its metrics has a label ${label} to group by`);
  const left = new Set(grouped.length > 0 ? grouped : labels);
  for (const label of shown) if (!left.has(label)) problems.push(`its results have no label ${label}`);
  return problems;
}

function matches(values: Set<string>, operator: string, value: string): boolean {
  if (operator === '=') return values.has(value);
  const pattern = new RegExp(`^(?:${value})$`);
  return [...values].some((each) => pattern.test(each));
}
