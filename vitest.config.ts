import { defineConfig } from 'vitest/config';

const inBothLocales = ['services/{auth,calls,api-gateway}/test/**/*.test.ts'];

/** Pure and process tests run once; whatever asks a database runs in the `C` locale and in an ICU one. */
export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: 'once', include: ['**/{src,test}/**/*.test.ts'], exclude: ['**/node_modules/**', ...inBothLocales] },
      },
      ...['C', 'icu'].map((name) => ({
        extends: true as const,
        test: { name, include: inBothLocales, globalSetup: 'packages/testing/src/setup.ts' },
      })),
    ],
  },
});
