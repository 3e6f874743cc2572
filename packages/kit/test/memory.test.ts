import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const PROGRAM = `
  import { trimMemory } from '${new URL('../src/process/memory.ts', import.meta.url).href}';
  const size = () => process.memoryUsage.rss() / 2 ** 20;
  let garbage = Array.from({ length: 300_000 }, (_, n) => ({ n, text: 'text ' + n }));
  garbage = undefined;
  const before = size();
  trimMemory();
  process.stdout.write(String(before - size()));
`;

/** Runs a process whose start produces much garbage. @returns the MiB of memory that trimMemory() returned to the system */
async function trimmedMiB(...flags: string[]): Promise<number> {
  const young = ['--min-semi-space-size=32', '--max-semi-space-size=32'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, ...young, '--input-type=module', '-e', PROGRAM]);
  return Number(stdout);
}

it('trimMemory returns the garbage of the start to the system', async () => {
  expect(await trimmedMiB('--expose-gc')).toBeGreaterThan(20);
});

it('trimMemory does nothing without --expose-gc', async () => {
  expect(await trimmedMiB()).toBeLessThan(5);
});
