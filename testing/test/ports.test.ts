import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { afterEach, expect, it } from 'vitest';

const children: ChildProcessByStdio<null, Readable, null>[] = [];
afterEach(() => {
  children.splice(0).forEach((child) => child.kill());
});

/** Starts a process that reserves one port and doesn't listen on it. Each process tries the same block first. @returns the port */
async function portOfProcess(): Promise<number> {
  const program = `
    Math.random = () => 0.5;
    const { freePorts } = await import(${JSON.stringify(import.meta.resolve('@crs/testing/ports'))});
    console.log(...(await freePorts(1)));
    setInterval(() => {}, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [output] = (await once(child.stdout, 'data')) as [Buffer];
  return Number(output.toString());
}

it('freePorts gives a port to one process only, even before anything listens on it', async () => {
  const first = await portOfProcess();
  const second = await portOfProcess();
  expect(first).toBeGreaterThan(10_240);
  expect(second).toBeGreaterThan(10_240);
  expect(second).not.toBe(first);
});
