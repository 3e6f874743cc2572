import { runMain } from '@crs/kit/process/main';
import { readRecordServiceConfig } from '@crs/records/record-service';
import { createEntitiesService } from './service.ts';

await runMain('entities', (environment, surroundings) =>
  createEntitiesService(readRecordServiceConfig(environment), surroundings),
);
