import type { SettingChange, TenantChange } from '@crs/proto/crs/auth/v1/admin';
import { printable } from '../output.ts';

/** The changes of an organization. */
export interface TenantPlan {
  id: string;
  changes: TenantChange[];
}

const SIGNS: Record<string, string> = { add: '+', change: '~', remove: '-' };

/** Lays out plans like a diff, and a summary. */
export function planText(plans: readonly TenantPlan[]): string {
  const blocks = plans
    .filter(({ changes }) => changes.length > 0)
    .map(({ id, changes }) => [id, ...changes.flatMap(changeLines)].map(printable).join('\n'));
  return [...blocks, summaryOf(plans)].join('\n\n');
}

export function summaryOf(plans: readonly TenantPlan[]): string {
  const { add, change, remove } = countsOf(plans);
  return `${add} to add, ${change} to change, ${remove} to remove.`;
}

export function countsOf(plans: readonly TenantPlan[]): { add: number; change: number; remove: number } {
  const actions = plans.flatMap(({ changes }) => changes.map(({ action }) => action));
  const count = (action: string) => actions.filter((each) => each === action).length;
  return { add: count('add'), change: count('change'), remove: count('remove') };
}

function changeLines({ action, type, name, settings }: TenantChange): string[] {
  const head = `  ${SIGNS[action] ?? '?'} ${type.replaceAll('_', ' ')} ${name}`;
  return [head, ...settings.map((setting) => `      ${settingText(action, setting)}`)];
}

function settingText(action: string, { setting, from, to }: SettingChange): string {
  // Only a secret has no values.
  if (from === 'null' && to === 'null') return `${setting}: (not shown)`;
  return action === 'add' ? `${setting}: ${to}` : `${setting}: ${from} -> ${to}`;
}
