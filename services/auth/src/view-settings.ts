import { setTimeout as sleep } from 'node:timers/promises';
import type { SettingChanges } from './store/audit.ts';

/** How long other services use an answer about the settings that decide how calls look, counted from their question (milliseconds). */
export const VIEW_SETTINGS_VALID_MS = 100;

/** Clocks of two machines don't run equally fast. */
const SLACK_MS = 10;

/** Whether a change concerns the settings that decide how calls look. */
export function changesView(changes: SettingChanges): boolean {
  return 'allowed_fields' in changes || 'anonymize_interviewees' in changes;
}

/** Resolves when no service uses an answer any longer that was given before a change. Only then is the change reported as done. */
export async function untilViewsFollow(): Promise<void> {
  await sleep(VIEW_SETTINGS_VALID_MS + SLACK_MS);
}
