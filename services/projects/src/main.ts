import { runMain } from '@crs/kit/process/main';
import { readRecordServiceConfig } from '@crs/records/record-service';
import { createProjectsService } from './service.ts';

await runMain('projects', (environment, surroundings) =>
  createProjectsService(readRecordServiceConfig(environment), surroundings),
);
