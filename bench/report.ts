/** Command-line options, rounds and printed results of the benchmarks. */
import { parseArgs } from 'node:util';
import type { Result } from './load.ts';

/** Parses the command line's options, whose names and types are those of the defaults. @throws TypeError for an unknown option */
export function readOptions<T extends Record<string, string | number>>(defaults: T): T {
  const types = Object.keys(defaults).map((name) => [name, { type: 'string' as const }]);
  const { values } = parseArgs({ options: Object.fromEntries(types) });
  const given = Object.entries(values).map(([name, value]) => [name, typeof defaults[name] === 'number' ? Number(value) : value]);
  return { ...defaults, ...Object.fromEntries(given) };
}

/** Returns the quantile of the values for a share from 0 to 1. NaN if `values` is empty. */
export function quantile(values: number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? NaN;
}

export const median = (values: number[]) => quantile(values, 0.5);

export const worst = (values: number[]) => Math.max(...values);

/** Measures this many rounds, after a warm-up round in which processes compile their code and fill caches. */
export async function repeat<T>(rounds: number, measureRound: () => Promise<T>): Promise<T[]> {
  await measureRound();
  const results: T[] = [];
  for (let round = 0; round < rounds; round++) results.push(await measureRound());
  return results;
}

export function printResult(name: string, { perSecond, p50, p99, cpu, total }: Result): void {
  const parts = [...cpu].map(([process, milliseconds]) => `${process} ${milliseconds.toFixed(2)}`).join('  ');
  console.log(
    `${name.padEnd(30)} ${perSecond.toFixed(0).padStart(6)}/s  p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms  CPU ${total.toFixed(2)} ms (${parts})`,
  );
}

/** Prints the median, the worst value and all values of a figure, with its goal. */
export function printFigure(name: string, values: number[], goal: { atMost: number } | { atLeast: number }): void {
  const [bad, wanted] =
    'atMost' in goal ? [worst(values), `at most ${goal.atMost}`] : [Math.min(...values), `at least ${goal.atLeast}`];
  const rounds = values.map((value) => value.toFixed(2)).join(', ');
  console.log(`${name}: median ${median(values).toFixed(2)}, worst ${bad.toFixed(2)} (${wanted}; rounds ${rounds})`);
}
