import { runMain } from '@crs/kit/main';
import { readRecordServiceConfig } from '@crs/kit/record-service';
import { createProjectsService } from './service.ts';

await runMain('projects', (environment, surroundings) =>
  createProjectsService(readRecordServiceConfig(environment), surroundings),
);
