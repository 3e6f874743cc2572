import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const PROGRAM = `
  import { trimMemory } from '${new URL('../src/process/memory.ts', import.meta.url).href}';
  const size = () => process.memoryUsage.rss() / 2 ** 20;
  let kept = Array.from({ length: 300_000 }, (_, n) => ({ n, text: 'text ' + n }));
  kept = undefined;
  const before = size();
  trimMemory();
  process.stdout.write(String(before - size()));
`;

/** The MiB that a process gives back whose start made much garbage. */
async function givenBack(...flags: string[]): Promise<number> {
  const young = ['--min-semi-space-size=32', '--max-semi-space-size=32'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, ...young, '--input-type=module', '-e', PROGRAM]);
  return Number(stdout);
}

it('a process gives back the memory of its start', async () => {
  expect(await givenBack('--expose-gc')).toBeGreaterThan(20);
});

it('without --expose-gc a process runs as V8 leaves it', async () => {
  expect(await givenBack()).toBeLessThan(5);
});
