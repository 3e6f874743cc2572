import { defineConfig } from 'vitest/config';
import { SecondTries } from './testing/src/second-tries.ts';

/** These tests kill and restart processes, which takes long. The locale doesn't matter to them. */
const underFaults = ['{services/*,trials/*}/test/**/*-under-faults.test.ts'];
const onDatabase = [
  'services/{auth,calls,projects,entities,api-gateway,tool-gateway}/test/**/*.test.ts',
  'deploy/install/test/smoke.test.ts',
  'services/crs/test/check.test.ts',
  'trials/citus/test/*.test.ts',
  'trials/fuzz/test/fuzz.test.ts',
  'trials/monitoring/test/leaked-key.test.ts',
];
/** These tests store, order or compare text. The gateways' other tests are about HTTP. */
const inBothLocales = [
  'services/{auth,calls,projects,entities,tool-gateway}/test/**/*.test.ts',
  'services/api-gateway/test/{list-calls,list-query,projects,call-ids}.test.ts',
];

/** These tests read trace ids, which only OpenTelemetry makes. It must start before the services are loaded. */
const traced = [
  'services/api-gateway/test/{failures,register,request-ids}.test.ts',
  'services/tool-gateway/test/{register,sign-in-through}.test.ts',
];
/** These tests start OpenTelemetry with settings of their own, which works once in a process: each needs one of its own. */
const alone = ['services/api-gateway/test/telemetry.test.ts', 'packages/kit/test/rate-limiter.test.ts'];

/** These tests are about processes, connections and keys. A file that is missing here runs in both locales, which costs time only. */
const withoutText = [
  '**/{admission,audit,audit-retention,change-cursors,changes,export,held-changes,audit-counts,authenticate-key,caller-rights,connections,crowds,deadlines,deletions,federation-refusals,grants,guarded-fetch,guarded-fetch-proxy,half-sent,interrupted-deletions,keys,migration-during-dump,migrations,migrations-under-load,commands,oidc-providers,operator-liveness,operators,password-file,rights,row-security,row-level-security,schema-change,schema-gate,secrets,shared-connections,sign-in-answers,sign-in-clients,sign-in-flow,sign-in-metadata-documents,sign-in-refusals,sign-in-service,signer,tokens,twins,user-access,view-settings}.test.ts',
  'services/tool-gateway/test/{arguments,certificates,challenges,charges,order-of-checks,operator-tokens,protocol,register,sign-in,tool-contract}.test.ts',
];

/** These tests render the charts by the Helm that `.ci/charts/run` installs and names in `HELM`. */
const onCharts = 'charts/tools/test/**/*.test.ts';
const charts = { extends: true as const, test: { name: 'charts', include: [onCharts] } };

/** These tests drive the packed clients, which `.ci/clients/run` installs and names in the file `CRS_CLIENT_PROGRAMS`. */
const onClients = 'clients/scenarios/test/**/*.test.ts';
const clients = {
  extends: true as const,
  test: { name: 'clients', include: [onClients], globalSetup: 'testing/src/setup.ts' },
};

/** Tests that need no database run once. The others run in the `C` locale, and those about text in an ICU locale, too. */
export default defineConfig({
  test: {
    reporters: ['default', new SecondTries()],
    // Only a fault reaches these times, however busy the machine is.
    testTimeout: 60_000,
    // More workers than cores make every test slower than one after the other.
    maxWorkers: 2,
    // A worker loads the modules once for all its files. A test leaves no global state behind.
    isolate: false,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
    projects: [
      ...(process.env['HELM'] ? [charts] : []),
      ...(process.env['CRS_CLIENT_PROGRAMS'] ? [clients] : []),
      {
        extends: true,
        test: {
          name: 'once',
          include: ['**/{src,test}/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...onDatabase, ...underFaults, ...alone, ...traced, onCharts, onClients],
        },
      },
      {
        extends: true,
        test: {
          name: 'C',
          include: [...onDatabase, ...underFaults],
          exclude: ['**/node_modules/**', ...alone, ...traced],
          globalSetup: 'testing/src/setup.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'traced',
          include: traced,
          setupFiles: 'testing/src/start-telemetry.ts',
          globalSetup: 'testing/src/setup.ts',
        },
      },
      {
        extends: true,
        test: { name: 'alone', isolate: true, include: alone, globalSetup: 'testing/src/setup.ts' },
      },
      {
        extends: true,
        test: {
          name: 'icu',
          include: inBothLocales,
          exclude: ['**/node_modules/**', ...underFaults, ...withoutText, ...alone, ...traced],
          globalSetup: 'testing/src/setup.ts',
        },
      },
    ],
  },
});
