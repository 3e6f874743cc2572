import { defineConfig } from 'vitest/config';

/** The tests whose files end with this, before `.test.ts`. */
const endingWith = (suffix: string) => `**/test/**/*.${suffix}.test.ts`;
const CHARTS = 'charts/tools/test/**/*.test.ts';
const CLIENTS = 'clients/scenarios/test/**/*.test.ts';

function project(name: string, include: string, settings: object = {}) {
  const times = {
    // Only a fault reaches these times, however busy the machine is.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
  };
  // A worker loads the modules once for all its files. A test leaves no global state behind.
  return { test: { name, include: [include], isolate: false, ...times, ...settings } };
}

export default defineConfig({
  test: {
    globalSetup: 'testing/src/setup.ts',
    // More workers than cores make every test slower than one after the other.
    maxWorkers: 2,
    projects: [
      project('tests', '**/{src,test}/**/*.test.ts', {
        exclude: ['**/node_modules/**', ...['traced', 'alone', 'faults'].map(endingWith), CHARTS, CLIENTS],
      }),
      // These read trace ids, which exist where OpenTelemetry started before the services were loaded.
      project('traced', endingWith('traced'), { setupFiles: 'testing/src/start-telemetry.ts' }),
      // These start OpenTelemetry with settings of their own, which works once in a process.
      project('alone', endingWith('alone'), { isolate: true }),
      // These kill and restart processes, which takes minutes. `.ci/run` runs them.
      ...(process.env['CRS_TEST_FAULTS'] ? [project('faults', endingWith('faults'))] : []),
      // These render the charts by the Helm that `.ci/charts/run` installs.
      ...(process.env['HELM'] ? [project('charts', CHARTS)] : []),
      // These drive the packed clients, which `.ci/clients/run` installs and names in a file.
      ...(process.env['CRS_CLIENT_PROGRAMS'] ? [project('clients', CLIENTS)] : []),
    ],
  },
});
