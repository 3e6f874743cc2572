/** @returns a note for the report @throws Error with what was wrong */
export type ScenarioStep = () => Promise<string>;

/** Runs all steps one after the other, even after a failure, and prints a table. @returns whether all succeeded */
export async function report(steps: [name: string, step: ScenarioStep][]): Promise<boolean> {
  const rows: { name: string; good: boolean; seconds: number; note: string }[] = [];
  for (const [name, step] of steps) {
    say(`\n=== ${name}`);
    const begun = performance.now();
    let good = true;
    let note: string;
    try {
      note = await step();
    } catch (error) {
      good = false;
      note = (error as Error).message;
    }
    const seconds = (performance.now() - begun) / 1000;
    say(`${good ? 'passed' : '*** failed'}, ${seconds.toFixed(0)} s: ${note}`);
    rows.push({ name, good, seconds, note });
  }
  const width = Math.max(...rows.map(({ name }) => name.length));
  say('');
  for (const { name, good, seconds, note } of rows) {
    say(`${good ? 'passed' : 'FAILED'}  ${name.padEnd(width)}  ${seconds.toFixed(0).padStart(4)} s  ${note.split('\n')[0]}`);
  }
  say(`${rows.filter(({ good }) => good).length} passed, ${rows.filter(({ good }) => !good).length} failed`);
  return rows.every(({ good }) => good);
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
