/** @returns a note for the report @throws Error with what was wrong */
export type ScenarioStep = () => Promise<string>;

/** Runs all steps one after the other, even after a failure, and prints a table. @returns whether all succeeded */
export async function report(steps: [name: string, step: ScenarioStep][]): Promise<boolean> {
  const rows: { name: string; passed: boolean; seconds: number; note: string }[] = [];
  for (const [name, step] of steps) {
    say(`\n=== ${name}`);
    const started = performance.now();
    let passed = true;
    let note: string;
    try {
      note = await step();
    } catch (error) {
      passed = false;
      note = (error as Error).message;
    }
    const seconds = (performance.now() - started) / 1000;
    say(`${passed ? 'passed' : '*** failed'}, ${seconds.toFixed(0)} s: ${note}`);
    rows.push({ name, passed, seconds, note });
  }
  const width = Math.max(...rows.map(({ name }) => name.length));
  say('');
  for (const { name, passed, seconds, note } of rows) {
    say(`${passed ? 'passed' : 'FAILED'}  ${name.padEnd(width)}  ${seconds.toFixed(0).padStart(4)} s  ${note.split('\n')[0]}`);
  }
  say(`${rows.filter(({ passed }) => passed).length} passed, ${rows.filter(({ passed }) => !passed).length} failed`);
  return rows.every(({ passed }) => passed);
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
