/** Counts what `packages/testing/src/prism.ts` reports: exchanges by status, those that Prism could not be given, violations. */
import { readFileSync } from 'node:fs';

interface Exchange {
  method: string;
  status: number;
  skipped?: string;
  violations?: unknown[];
}

const lines = readFileSync(process.argv[2]!, 'utf8').trim().split('\n');
const exchanges = lines.map((line) => JSON.parse(line) as Exchange);
const held = exchanges.filter(({ skipped }) => skipped === undefined);
const violations = held.flatMap((exchange) => exchange.violations ?? []);

const print = (line: string) => process.stdout.write(`${line}\n`);
const count = (names: string[]) =>
  [...new Set(names)]
    .toSorted()
    .forEach((name) => print(`${String(names.filter((other) => other === name).length).padStart(6)} ${name}`));

print(`${held.length} exchanges held against the document, ${violations.length} violations`);
count(held.map(({ method, status }) => `${method} ${status}`));
print('not held against it:');
count(exchanges.flatMap(({ skipped }) => skipped ?? []));
process.exitCode = violations.length === 0 && held.length > 0 ? 0 : 1;
