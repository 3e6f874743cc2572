/**
 * Summarizes the report of `testing/src/prism.ts`: the HTTP exchanges that were checked against the OpenAPI document, by method and status, and those
 * that Prism could not check, by reason. Fails if an exchange violates the document, or if none was checked.
 *   node count-exchanges.ts FILE
 */
import { readFileSync } from 'node:fs';

interface Exchange {
  method: string;
  status: number;
  skipped?: string;
  violations?: unknown[];
}

const lines = readFileSync(process.argv[2]!, 'utf8')
  .split('\n')
  .filter((line) => line !== '');
const exchanges = lines.map((line) => JSON.parse(line) as Exchange);
const checked = exchanges.filter(({ skipped }) => skipped === undefined);
const violations = checked.flatMap((exchange) => exchange.violations ?? []);

const print = (line: string) => process.stdout.write(`${line}\n`);
const count = (names: string[]) =>
  [...new Set(names)]
    .toSorted()
    .forEach((name) => print(`${String(names.filter((other) => other === name).length).padStart(6)} ${name}`));

print(`${checked.length} exchanges checked against the OpenAPI document, ${violations.length} violations`);
count(checked.map(({ method, status }) => `${method} ${status}`));
print('not checked, by reason:');
count(exchanges.flatMap(({ skipped }) => skipped ?? []));
process.exitCode = violations.length === 0 && checked.length > 0 ? 0 : 1;
