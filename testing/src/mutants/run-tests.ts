import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';

/** The part of Vitest's JSON report that is read here. */
interface Report {
  testResults: { message: string; assertionResults: { status: string; fullName: string }[] }[];
}

export type Result =
  | { kind: 'passed' }
  /** @property test the full name of the first failed test */
  | { kind: 'failed'; test: string }
  /** No test failed, but the run did, for example because a file can't be imported. */
  | { kind: 'broken'; reason: string };

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const MAX_REASON = 500;

/** Runs test files of a checkout until the first test fails. @param databaseUrl a PostgreSQL server, as superuser */
export async function runTests(checkout: string, files: string[], databaseUrl: string): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'crs-report-'));
  const report = join(directory, 'report.json');
  const args = ['run', ...files, '--bail=1', '--reporter=json', `--outputFile=${report}`];
  try {
    await promisify(execFile)(join(checkout, 'node_modules/.bin/vitest'), args, {
      cwd: checkout,
      // Tests of random data get the same data in each run.
      env: { ...process.env, CRS_TEST_SEED: '1', CRS_TEST_DATABASE_URL: databaseUrl },
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    return { kind: 'passed' };
  } catch (error) {
    const { stderr } = error as { stderr: string };
    return readFailure(await readFile(report, 'utf8').catch(() => undefined), stderr);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function readFailure(report: string | undefined, stderr: string): Result {
  const { testResults } = report === undefined ? { testResults: [] } : (JSON.parse(report) as Report);
  const failed = testResults.flatMap(({ assertionResults }) => assertionResults).find(({ status }) => status === 'failed');
  if (failed) return { kind: 'failed', test: failed.fullName };
  const reason = testResults.find(({ message }) => message !== '')?.message ?? stderr;
  return { kind: 'broken', reason: stripVTControlCharacters(reason).slice(-MAX_REASON) };
}
