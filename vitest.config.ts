import { defineConfig } from 'vitest/config';

/** Processes are killed and started again, which takes its time; the locale doesn't matter there. */
const underFaults = ['{services/*,trials/*}/test/**/*-under-faults.test.ts'];
const onDatabase = [
  'services/{auth,calls,projects,entities,api-gateway,tool-gateway}/test/**/*.test.ts',
  'deploy/install/test/smoke.test.ts',
  'trials/fuzz/test/fuzz.test.ts',
];
/** What stores, orders or compares text; the rest of the gateways' suites is about HTTP. */
const inBothLocales = [
  'services/{auth,calls,projects,entities,tool-gateway}/test/**/*.test.ts',
  'services/api-gateway/test/{list-calls,list-query,projects,call-ids}.test.ts',
];

/** About processes, connections and keys: the locale has no part in them. */
const withoutText = [
  '**/{admission,audit,authenticate-key,connections,deadlines,interrupted-deletions,keys,migrations,operators,rights,schema-gate,signer,tokens,twins}.test.ts',
  'services/tool-gateway/test/{arguments,certificates,challenges,charges,order-of-checks,operator-tokens,protocol,sign-in,sign-in-through,tool-contract}.test.ts',
];

/** What Helm makes of the charts. `.ci/charts/run` brings Helm, and names it. */
const onCharts = 'charts/tools/test/**/*.test.ts';
const charts = { extends: true as const, test: { name: 'charts', include: [onCharts] } };

/** Pure and process tests run once; whatever asks a database runs in the `C` locale and in an ICU one. */
export default defineConfig({
  test: {
    testTimeout: 30_000,
    // Most tests wait for PostgreSQL half of their time.
    maxWorkers: 2,
    hookTimeout: 60_000,
    projects: [
      ...(process.env['HELM'] ? [charts] : []),
      {
        extends: true,
        test: {
          name: 'once',
          include: ['**/{src,test}/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...onDatabase, ...underFaults, onCharts],
        },
      },
      {
        extends: true,
        test: { name: 'C', include: [...onDatabase, ...underFaults], globalSetup: 'packages/testing/src/setup.ts' },
      },
      {
        extends: true,
        test: {
          name: 'icu',
          include: inBothLocales,
          exclude: ['**/node_modules/**', ...underFaults, ...withoutText],
          globalSetup: 'packages/testing/src/setup.ts',
        },
      },
    ],
  },
});
