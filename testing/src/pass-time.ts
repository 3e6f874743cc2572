const now = performance.now.bind(performance);
let passed = 0;
performance.now = () => now() + passed;

/** Moves the clock forward by which the caches of this process measure the age of their values. No other clock changes. */
export function passTime(ms: number): void {
  passed += ms;
}
