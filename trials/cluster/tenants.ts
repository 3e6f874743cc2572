/** Step of the cluster trial that keeps organizations as a file: the chart's Job mends one that was changed by hand. */
import { crs, kubectl, NAME } from './cluster.ts';
import { upgradeWith } from './release.ts';
import { say } from './report.ts';

const DRIFTING = 'file-one';
const VALUES = ['--values', 'trials/cluster/tenants.yaml'];

/** Changes an organization of tenants.yaml by hand, sees the difference planned by a job of the chart, and has it mended by the next upgrade. */
export async function mendTenant(): Promise<string> {
  await upgradeWith(VALUES);
  await plan('complete');
  const described = await show();
  await crs(['org', 'update', DRIFTING, '--rate-limit', '7/60', '--write-surface', 'off']);
  const log = await plan('failed');
  for (const setting of ['rate_limit', 'write_surface']) if (!log.includes(setting)) throw new Error(`the plan lacks ${setting}`);
  await upgradeWith(VALUES);
  say(await kubectl(['logs', `job/${NAME}-tenants`]));
  await plan('complete');
  const mended = await show();
  if (JSON.stringify(mended) !== JSON.stringify(described)) throw new Error(`differs after the Job: ${JSON.stringify(mended)}`);
  return 'two settings planned and mended; afterwards the plan is empty';
}

/** Runs `crs apply --plan` by the CronJob of tenants.yaml, which fails if there are changes. @returns its log */
async function plan(expected: 'complete' | 'failed'): Promise<string> {
  const job = `plan-${Date.now()}`;
  await kubectl(['create', 'job', `--from=cronjob/${NAME}-tenants-plan`, job], { shown: true });
  await kubectl(['wait', `--for=condition=${expected}`, `job/${job}`, '--timeout=3m']);
  const log = await kubectl(['logs', `job/${job}`], { shown: true });
  await kubectl(['delete', 'job', job]);
  return log;
}

/** Returns the settings that the Job keeps. */
async function show(): Promise<unknown> {
  const { updated_at: _, ...settings } = await crs<Record<string, unknown>>(['org', 'show', DRIFTING]);
  return settings;
}
