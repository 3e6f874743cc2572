import { runMain } from '@crs/kit/main';
import { readRecordServiceConfig } from '@crs/kit/record-service';
import { createEntitiesService } from './service.ts';

await runMain('entities', (environment, surroundings) =>
  createEntitiesService(readRecordServiceConfig(environment), surroundings),
);
