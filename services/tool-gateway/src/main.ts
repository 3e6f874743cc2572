import { runMain } from '@crs/kit/process/main';
import { readConfig } from './config.ts';
import { createToolGateway } from './service.ts';

await runMain('tool-gateway', (environment, runtime) => createToolGateway(readConfig(environment), runtime));
