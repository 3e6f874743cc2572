/** Evaluates the admissions that clients have recorded: finds the windows of a rate limit, and counts in them. */
import type { LimitedResponse } from './client.ts';

/** One window as seen by the clients. */
export interface ObservedWindow {
  /** When the first request of the window was admitted, in epoch milliseconds. */
  openedAt: number;
  admitted: number;
  /** Requests that were refused although a later request of the same window was admitted. */
  refusedBelow: number;
}

export const faultsOf = (responses: LimitedResponse[]): string[] =>
  responses.flatMap(({ outcome }) => (typeof outcome === 'object' ? [outcome.fault] : []));

const admittedOf = (responses: LimitedResponse[]) =>
  responses.filter(({ outcome }) => outcome === 'admitted').toSorted((a, b) => a.done - b.done);

/** Returns the windows of a load far above the limit. The load uses up each window at its beginning, so gaps in admissions separate the windows. */
export function windowsOf(responses: LimitedResponse[], periodMs: number): ObservedWindow[] {
  const windows: LimitedResponse[][] = [];
  for (const response of admittedOf(responses)) {
    const last = windows.at(-1);
    if (last && response.done - last.at(-1)!.done < periodMs / 2) last.push(response);
    else windows.push([response]);
  }
  const refused = responses.filter(({ outcome }) => outcome === 'refused');
  return windows.map((admitted) => {
    const openedAt = admitted[0]!.done;
    const lastSent = Math.max(...admitted.map(({ sent }) => sent));
    return {
      openedAt,
      admitted: admitted.length,
      refusedBelow: refused.filter(({ sent, done }) => sent >= openedAt && done < lastSent).length,
    };
  });
}

/** Returns the maximum number of admitted requests sent within any interval of this length. Uses sending times, because responses are late while a component hangs. */
export function mostAdmitted(responses: LimitedResponse[], intervalMs: number): number {
  const times = admittedOf(responses)
    .map(({ sent }) => sent)
    .toSorted((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (const [index, time] of times.entries()) {
    while (time - times[first]! >= intervalMs) first++;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
