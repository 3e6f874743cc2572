import { runMain } from '@crs/kit/process/main';
import { readConfig } from './config.ts';
import { createAuthService } from './service.ts';

await runMain('auth', (environment, runtime) => createAuthService(readConfig(environment), runtime));
