import { runMain } from '@crs/kit/process/main';
import { readConfig } from './config.ts';
import { createApiGateway } from './service.ts';

await runMain('api-gateway', (environment, runtime) => createApiGateway(readConfig(environment), runtime));
