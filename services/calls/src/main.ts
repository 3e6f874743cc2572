import { runMain } from '@crs/kit/main';
import { readRecordServiceConfig } from '@crs/kit/record-service';
import { createCallsService } from './service.ts';

await runMain('calls', (environment, surroundings) => createCallsService(readRecordServiceConfig(environment), surroundings));
