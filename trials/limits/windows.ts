import type { Answer } from './client.ts';

/** One window, as the clients see it. */
export interface SeenWindow {
  /** When its first request was admitted, in epoch milliseconds. */
  opened: number;
  admitted: number;
  /** Requests that were refused although a later request of the same window was admitted. */
  refusedBelow: number;
}

export const faultsOf = (answers: Answer[]): string[] =>
  answers.flatMap(({ outcome }) => (typeof outcome === 'object' ? [outcome.fault] : []));

const admittedOf = (answers: Answer[]) =>
  answers.filter(({ outcome }) => outcome === 'admitted').toSorted((a, b) => a.done - b.done);

/** The windows of a load far above the limit. It uses each window up at its beginning; the time without admissions after that separates the windows. */
export function windowsOf(answers: Answer[], periodMs: number): SeenWindow[] {
  const windows: Answer[][] = [];
  for (const answer of admittedOf(answers)) {
    const last = windows.at(-1);
    if (last && answer.done - last.at(-1)!.done < periodMs / 2) last.push(answer);
    else windows.push([answer]);
  }
  const refused = answers.filter(({ outcome }) => outcome === 'refused');
  return windows.map((admitted) => {
    const opened = admitted[0]!.done;
    const lastSent = Math.max(...admitted.map(({ sent }) => sent));
    return {
      opened,
      admitted: admitted.length,
      refusedBelow: refused.filter(({ sent, done }) => sent >= opened && done < lastSent).length,
    };
  });
}

/** The most admitted requests that were sent within any stretch of this length. Times of sending count, because answers come late while a part hangs. */
export function mostAdmitted(answers: Answer[], stretchMs: number): number {
  const times = admittedOf(answers)
    .map(({ sent }) => sent)
    .toSorted((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (const [index, time] of times.entries()) {
    while (time - times[first]! >= stretchMs) first++;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
