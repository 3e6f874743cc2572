import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const PROGRAM = `
  import { setTimeout as sleep } from 'node:timers/promises';
  import { trimMemory } from '${new URL('../src/process/memory.ts', import.meta.url).href}';
  const size = () => process.memoryUsage.rss() / 2 ** 20;
  const close = trimMemory(200);
  const begun = size();
  let kept = Array.from({ length: 300_000 }, (_, n) => ({ n, text: 'text ' + n }));
  const worked = size();
  kept = undefined;
  await sleep(2_000);
  process.stdout.write(JSON.stringify({ begun, worked, rested: size() }));
  close();
`;

/** MiB at the end of the start, after work that made much garbage, and two seconds later. */
async function sizes(...flags: string[]): Promise<{ begun: number; worked: number; rested: number }> {
  const young = ['--min-semi-space-size=32', '--max-semi-space-size=32'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, ...young, '--input-type=module', '-e', PROGRAM]);
  return JSON.parse(stdout);
}

it('a process at rest gives back the memory of its work', async () => {
  const { begun, worked, rested } = await sizes('--expose-gc');
  expect(worked).toBeGreaterThan(begun + 20);
  expect(rested).toBeLessThan(begun + 10);
});

it('without --expose-gc a process runs as V8 leaves it', async () => {
  const { worked, rested } = await sizes();
  expect(rested).toBeGreaterThan(worked - 10);
});
