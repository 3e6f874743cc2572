import type { Service, Surroundings } from '@crs/kit/process/lifecycle';
import { createRecordService, type RecordServiceConfig } from '@crs/records/record-service';
import { migrations } from '../migrations/index.ts';
import { adminServices, internalServices } from './handlers/index.ts';

/** Projects and billing offices: the internal listener `grpc`, and `admin` for operators. */
export function createProjectsService(
  config: RecordServiceConfig,
  surroundings: Surroundings,
): Service<{ grpc: string; admin: string }> {
  return createRecordService({ name: 'projects', migrations }, config, surroundings, (context) => ({
    internal: internalServices(context),
    admin: adminServices(context),
  }));
}
