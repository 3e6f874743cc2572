import { runMain } from '@crs/kit/process/main';
import { readRecordServiceConfig } from '@crs/records/record-service';
import { createCallsService } from './service.ts';

await runMain('calls', (environment, runtime) => createCallsService(readRecordServiceConfig(environment), runtime));
