import type { Service, Surroundings } from '@crs/kit/lifecycle';
import { createRecordService, type RecordServiceConfig } from '@crs/kit/record-service';
import { adminServices, internalServices } from './handlers/index.ts';

/** Projects and billing offices: the internal listener `grpc`, and `admin` for operators. */
export function createProjectsService(
  config: RecordServiceConfig,
  surroundings: Surroundings,
): Service<{ grpc: string; admin: string }> {
  return createRecordService('projects', config, surroundings, (context) => ({
    internal: internalServices(context),
    admin: adminServices(context),
  }));
}
