import { meter } from '@crs/kit/process/telemetry';

/** Counts rows that a service has deleted on its own. Call it with 0 at startup: otherwise `increase()` would miss the first rows. */
export function countDeleted(
  reason: 'erasure' | 'retention' | 'deletions' | 'creations' | 'sign-in' | 'tries' | 'audit',
  rows: number,
): void {
  const description = 'Rows that were deleted with an organization or a project, or because their retention period has ended.';
  meter('kit').createCounter('crs.deletion.rows', { description }).add(rows, { 'crs.deletion.reason': reason });
}
