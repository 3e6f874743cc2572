import { runMain } from '@crs/kit/process/main';
import { readConfig } from './config.ts';
import { createRateLimitService } from './service.ts';

await runMain('rate-limit', (environment, runtime) => createRateLimitService(readConfig(environment), runtime));
