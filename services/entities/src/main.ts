import { runMain } from '@crs/kit/process/main';
import { readRecordServiceConfig } from '@crs/records/record-service';
import { createEntitiesService } from './service.ts';

await runMain('entities', (environment, runtime) => createEntitiesService(readRecordServiceConfig(environment), runtime));
