import { setTimeout as sleep } from 'node:timers/promises';
import type { OrganizationChange } from './domain/settings.ts';

/** How long other services cache view settings, which decide how calls look, from the start of their request (milliseconds). */
export const VIEW_SETTINGS_VALID_MS = 100;

/** Allows for clocks that run at different speeds. */
const SLACK_MS = 10;

/** True also for a request that sets the stored values: it may repeat a change that was just made, and that caches don't have yet. */
export function setsView({ allowedFields, anonymizeInterviewees }: OrganizationChange): boolean {
  return allowedFields !== undefined || anonymizeInterviewees !== undefined;
}

/** Resolves when no cache has the settings from before a change. Call it before the change is reported as done. */
export async function waitForViewCaches(): Promise<void> {
  await sleep(VIEW_SETTINGS_VALID_MS + SLACK_MS);
}
