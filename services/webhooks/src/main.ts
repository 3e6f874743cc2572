import { runMain } from '@crs/kit/process/main';
import { readConfig } from './config.ts';
import { createWebhooksService } from './service.ts';

await runMain('webhooks', (environment, runtime) => createWebhooksService(readConfig(environment), runtime));
