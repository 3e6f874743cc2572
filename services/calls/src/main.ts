import { runMain } from '@crs/kit/main';
import { readConfig } from './config.ts';
import { createCallsService } from './service.ts';

await runMain('calls', (environment, log) => createCallsService(readConfig(environment), { log }));
