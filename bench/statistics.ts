/** The value below which this part (0 to 1) of the values lies; NaN of no values. */
export function quantile(values: number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? NaN;
}

/** The largest of the values. */
export const worst = (values: number[]) => Math.max(...values);

export const median = (values: number[]) => quantile(values, 0.5);

/** The median of each fifth of samples in their order. */
export function byFifths(samples: number[]): string {
  const fifth = Math.ceil(samples.length / 5);
  const medians = [0, 1, 2, 3, 4].map((n) => median(samples.slice(n * fifth, (n + 1) * fifth)));
  return medians.map((each) => each.toFixed(0)).join(', ');
}
