import { runMain } from '@crs/kit/process/main';
import { readRecordServiceConfig } from '@crs/records/record-service';
import { createProjectsService } from './service.ts';

await runMain('projects', (environment, runtime) => createProjectsService(readRecordServiceConfig(environment), runtime));
