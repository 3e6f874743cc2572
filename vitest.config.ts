import { defineConfig } from 'vitest/config';

/** Processes are killed and started again, which takes its time; the locale doesn't matter there. */
const underFaults = ['services/*/test/**/*-under-faults.test.ts'];
const inBothLocales = ['services/{auth,calls,projects,entities,api-gateway,tool-gateway}/test/**/*.test.ts'];

/** Pure and process tests run once; whatever asks a database runs in the `C` locale and in an ICU one. */
export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'once',
          include: ['**/{src,test}/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...inBothLocales, ...underFaults],
        },
      },
      {
        extends: true,
        test: { name: 'C', include: [...inBothLocales, ...underFaults], globalSetup: 'packages/testing/src/setup.ts' },
      },
      {
        extends: true,
        test: {
          name: 'icu',
          include: inBothLocales,
          exclude: ['**/node_modules/**', ...underFaults],
          globalSetup: 'packages/testing/src/setup.ts',
        },
      },
    ],
  },
});
