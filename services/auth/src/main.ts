import { runMain } from '@crs/kit/main';
import { readConfig } from './config.ts';
import { createAuthService } from './service.ts';

await runMain('auth', (environment, log) => createAuthService(readConfig(environment), { log }));
