import { defineConfig } from 'vitest/config';

/** Returns the pattern of test files with this suffix before `.test.ts`. */
const endingWith = (suffix: string) => `**/{src,test}/**/*.${suffix}.test.ts`;
const CHARTS = 'charts/tools/test/**/*.test.ts';
const CLIENTS = 'clients/scenarios/test/**/*.test.ts';

function project(name: string, include: string, settings: object = {}) {
  const times = {
    // Long enough for a busy machine: only a fault reaches these timeouts.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
  };
  // A worker loads modules once for all its files, so tests must leave no global state behind.
  return { test: { name, include: [include], isolate: false, ...times, ...settings } };
}

export default defineConfig({
  test: {
    globalSetup: 'testing/src/setup.ts',
    // One more than most small machines have cores: tests often wait for a timeout, a poll or the disk.
    maxWorkers: 3,
    // Vitest starts them in the order of their names. The last one has most of the files, so that all workers are busy until the end.
    projects: [
      project('usual', '**/{src,test}/**/*.test.ts', {
        exclude: ['**/node_modules/**', ...['traced', 'alone', 'slow'].map(endingWith), CHARTS, CLIENTS],
      }),
      // These read trace ids, which exist only if OpenTelemetry starts before the services are loaded.
      project('traced', endingWith('traced'), { setupFiles: ['testing/src/start-telemetry.ts'] }),
      // These replace the clock, or start OpenTelemetry with their own settings. Both would affect the system of a shared worker.
      project('alone', endingWith('alone'), { isolate: true }),
      // These kill processes, wait for real time or measure it. `.ci/run` runs them.
      ...(process.env['CRS_TEST_SLOW'] ? [project('slow', endingWith('slow'))] : []),
      // These render the charts with the Helm that `.ci/charts/run` installs.
      ...(process.env['HELM'] ? [project('charts', CHARTS)] : []),
      // These run the packed clients, which `.ci/clients/run` installs and lists in a file.
      ...(process.env['CRS_CLIENT_PROGRAMS'] ? [project('clients', CLIENTS)] : []),
    ],
  },
});
