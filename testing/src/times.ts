// Measures how long each test file takes, and writes the table testing/times.md.
//
//   node testing/src/times.ts [VITEST ARGUMENT...]
//
// Runs the tests of `npm test`. Times include a file's hooks and tests, but not the loading of its modules.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

interface Report {
  startTime: number;
  testResults: { name: string; startTime: number; endTime: number; assertionResults: object[] }[];
}

const ROOT = join(import.meta.dirname, '../..');
const directory = mkdtempSync(join(tmpdir(), 'crs-times-'));
try {
  const file = join(directory, 'report.json');
  const started = performance.now();
  const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`, ...process.argv.slice(2)];
  const { status } = spawnSync(join(ROOT, 'node_modules/.bin/vitest'), args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) throw new Error('The tests failed, so the table stays as it is.');
  const total = (performance.now() - started) / 1000;
  const rows = (JSON.parse(readFileSync(file, 'utf8')) as Report).testResults
    .map(({ name, startTime, endTime, assertionResults }) => ({
      name: relative(ROOT, name),
      tests: assertionResults.length,
      seconds: (endTime - startTime) / 1000,
    }))
    .toSorted((a, b) => b.seconds - a.seconds);
  const tests = rows.reduce((sum, row) => sum + row.tests, 0);
  const lines = [
    '# Time of each test file',
    '',
    `Written by \`node testing/src/times.ts\`. All ${tests.toLocaleString('en')} tests of ${rows.length} files took ${total.toFixed(0)} s.`,
    '',
    '| s | tests | file |',
    '| --: | --: | --- |',
    ...rows.map((row) => `| ${row.seconds.toFixed(1)} | ${row.tests} | \`${row.name}\` |`),
  ];
  const table = join(ROOT, 'testing/times.md');
  writeFileSync(table, `${lines.join('\n')}\n`);
  spawnSync(join(ROOT, 'node_modules/.bin/prettier'), ['--write', '--log-level', 'warn', table], { cwd: ROOT, stdio: 'inherit' });
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
