import { setTimeout as sleep } from 'node:timers/promises';
import type { OrganizationChange } from './domain/settings.ts';

/** How long other services use an answer about the settings that decide how calls look, counted from their question (milliseconds). */
export const VIEW_SETTINGS_VALID_MS = 100;

/** Clocks of two machines don't run equally fast. */
const SLACK_MS = 10;

/** Whether a request sets what decides how calls look. It may repeat a change that was just made, of which earlier answers are still valid. */
export function setsView({ allowedFields, anonymizeInterviewees }: OrganizationChange): boolean {
  return allowedFields !== undefined || anonymizeInterviewees !== undefined;
}

/** Resolves when no service uses an answer any longer that was given before a change. Only then is the change reported as done. */
export async function untilViewsFollow(): Promise<void> {
  await sleep(VIEW_SETTINGS_VALID_MS + SLACK_MS);
}
