import { ALERTS, type Alert } from './alerts.ts';
import { BURNS, OBJECTIVES, OURS, WINDOWS, type Objective, type RateWindow } from './objectives.ts';
import { RUNBOOKS } from './runbooks.ts';

export interface Recording {
  record: string;
  expr: string;
  labels?: Record<string, string>;
}

const BY = 'sum by (job, namespace, service, slo)';

function recordings(): Recording[] {
  const rates = OBJECTIVES.flatMap(({ slo, all, bad }) => [
    { record: 'crs:slo_requests:rate5m', expr: all, labels: { slo } },
    // Without errors `bad` has no series. The second operand then supplies 0.
    { record: 'crs:slo_errors:rate5m', expr: `(${bad})\nor 0 * ${all}`, labels: { slo } },
  ]);
  const ratios = WINDOWS.map((window) => ({
    record: `crs:slo_errors:ratio_${window}`,
    expr:
      window === '5m'
        ? `crs:slo_errors:rate5m{${OURS}} / crs:slo_requests:rate5m{${OURS}}`
        : `${BY} (sum_over_time(crs:slo_errors:rate5m{${OURS}}[${window}]))\n/ ${BY} (sum_over_time(crs:slo_requests:rate5m{${OURS}}[${window}]))`,
  }));
  return [...rates, ...ratios];
}

function burns({ slo, objective }: Objective, severity: string): string {
  const budget = 1 - objective;
  const selector = `{${OURS},slo="${slo}"}`;
  const above = (window: RateWindow, factor: number) =>
    `crs:slo_errors:ratio_${window}${selector} > ${Number((factor * budget).toFixed(6))}`;
  return BURNS.filter((burn) => burn.severity === severity)
    .map(({ factor, long, short }) => `(${above(long, factor)} and ${above(short, factor)})`)
    .join('\nor ');
}

const BUDGET_ALERTS: Record<string, { alert: string; badEvents: string }> = {
  availability: {
    alert: 'CallResearchAvailability',
    badEvents: '5xx responses (SLO: at most 0.1% over 30 days)',
  },
  latency: {
    alert: 'CallResearchLatency',
    badEvents: 'lists, details and tool calls that took longer than a second (SLO: at most 1% over 30 days)',
  },
};

function budgetAlerts(): Alert[] {
  return OBJECTIVES.flatMap((objective) => {
    const { alert, badEvents } = BUDGET_ALERTS[objective.slo]!;
    return (['critical', 'warning'] as const).map((severity) => ({
      alert,
      // No alert on a handful of requests: their error ratio isn't significant.
      expr: `(\n${burns(objective, severity)}\n)\nand 3600 * avg_over_time(crs:slo_requests:rate5m{${OURS},slo="${objective.slo}"}[1h]) > 60`,
      labels: { severity },
      annotations: {
        summary: `The error budget of {{ $labels.service }} (${objective.slo}) is burning ${severity === 'critical' ? 'fast' : 'slowly'}`,
        description: `{{ $value | humanizePercentage }} of the events of {{ $labels.service }} are ${badEvents}.`,
      },
    }));
  });
}

/** Returns the content of the Prometheus rules file. */
export function rules() {
  const page = (alert: Alert) => ({
    ...alert,
    annotations: { ...alert.annotations, runbook_url: `${RUNBOOKS}${alert.alert}.md` },
  });
  return {
    groups: [
      { name: 'call-research-objectives', rules: recordings() },
      { name: 'call-research-budgets', rules: budgetAlerts().map(page) },
      { name: 'call-research-alerts', rules: ALERTS.map(page) },
    ],
  };
}
