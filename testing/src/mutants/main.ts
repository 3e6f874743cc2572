// Makes known mistakes in the code of the product, one at a time, and checks that a test fails because of each.
//
//   node testing/src/mutants/main.ts [--list] [--only PART]
//
// `--list` names the mistakes; `--only` chooses those whose name or file contains PART. It works on a temporary checkout of HEAD, and exits with 1 if a
// mistake went unnoticed.
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startTestPostgres } from '../postgres.ts';
import { createCheckout } from './checkout.ts';
import { MUTATIONS } from './list.ts';
import { mutate, type Mutation } from './mutation.ts';
import { runTests, type Result } from './run-tests.ts';

const { values: options } = parseArgs({
  options: { list: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
});
const chosen = MUTATIONS.filter(({ name, file }) => `${name} ${file}`.includes(options.only));
if (chosen.length === 0) throw new Error(`No mistake has "${options.only}" in its name or file. --list shows them.`);
const print = (line: string) => process.stdout.write(`${line}\n`);

if (options.list) for (const { name, file } of chosen) print(`${file}: ${name}`);
else await tryAll();

async function tryAll(): Promise<void> {
  // One server for all runs saves each of them its start.
  const postgres = await startTestPostgres();
  try {
    const checkout = await createCheckout();
    try {
      const run = (tests: string[]) => runTests(checkout.path, tests, postgres.url);
      const sources = await readSources(checkout.path);
      requirePassing(await run([...new Set(chosen.flatMap(({ tests }) => tests))]));
      let noticed = 0;
      for (const mutation of chosen) {
        const path = join(checkout.path, mutation.file);
        const source = sources.get(mutation.file)!;
        await writeFile(path, mutate(source, mutation));
        const result = await run(mutation.tests);
        await writeFile(path, source);
        if (result.kind === 'failed') noticed++;
        print(describe(mutation, result));
      }
      print(`${noticed} of ${chosen.length} noticed`);
      if (noticed < chosen.length) process.exitCode = 1;
    } finally {
      await checkout.remove();
    }
  } finally {
    await postgres.stop();
  }
}

/** @returns the files to mutate by path @throws Error if a mutation can't be applied, or names a test file that doesn't exist */
async function readSources(checkout: string): Promise<Map<string, string>> {
  const sources = new Map<string, string>();
  for (const test of new Set(chosen.flatMap(({ tests }) => tests))) await access(join(checkout, test));
  for (const { file } of chosen) sources.set(file, await readFile(join(checkout, file), 'utf8'));
  for (const mutation of chosen) mutate(sources.get(mutation.file)!, mutation);
  return sources;
}

/** @throws Error if a test fails without a mutation */
function requirePassing(result: Result): void {
  if (result.kind === 'failed') throw new Error(`A test fails without a mutation: ${result.test}`);
  if (result.kind === 'broken') throw new Error(`The tests can't run: ${result.reason}`);
}

function describe({ name }: Mutation, result: Result): string {
  switch (result.kind) {
    case 'failed':
      return `noticed  ${name}: ${result.test}`;
    case 'passed':
      return `SURVIVED ${name}`;
    case 'broken':
      return `BROKEN   ${name}: no test failed, but the run did: ${result.reason}`;
  }
}
