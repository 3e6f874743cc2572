// Entry point of the child process that main.test.ts starts: a program that depends on the auth service at CRS_AUTH_ADDRESS.
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { client } from '../src/rpc/client.ts';
import { runMain } from '../src/process/main.ts';

await runMain('client', (environment) => {
  const auth = client(AuthServiceService, {
    name: 'auth',
    address: environment['CRS_AUTH_ADDRESS']!,
    timeoutMs: 1_000,
    retry: false,
  });
  return {
    start: async () => {
      await auth.listCallerKeys({}).catch(() => undefined);
      return {};
    },
    stop: async () => auth.close(),
  };
});
