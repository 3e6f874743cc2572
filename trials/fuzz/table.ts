/** Formats the report of a run. */
import type { Report } from './run.ts';

const MOST_SHOWN = 10;

export function table({ requests, seconds, slowest, outcomes, violations }: Report): string {
  const rows = [...outcomes].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const width = Math.max(...rows.map(([route]) => route.length));
  const counted = rows.map(([route, row]) => {
    const sum = [...row.values()].reduce((a, b) => a + b, 0);
    const parts = [...row].toSorted(([, a], [, b]) => b - a).map(([outcome, count]) => `${outcome}: ${count}`);
    return `${route.padEnd(width)} ${String(sum).padStart(7)}  ${parts.join(', ')}`;
  });
  const slow = slowest
    .slice(0, MOST_SHOWN)
    .map(({ ms, process, input }) => `${ms.toFixed(1).padStart(8)}  ${process.padEnd(14)}${input}`);
  return [
    ...counted,
    '',
    'Occupied the event loop longest, in ms, sent alone:',
    ...slow,
    '',
    ...violations.map((violation) => `VIOLATION ${violation}\n`),
    `${requests} requests in ${seconds.toFixed(0)} s (${(requests / seconds).toFixed(0)}/s), ${violations.length} violations`,
  ].join('\n');
}
