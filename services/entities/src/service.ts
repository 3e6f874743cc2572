import type { Service, Surroundings } from '@crs/kit/process/lifecycle';
import { createRecordService, type RecordServiceConfig } from '@crs/records/record-service';
import { migrations } from '../migrations/index.ts';
import { adminServices, internalServices } from './handlers/index.ts';

/** Entities recognized in calls: the internal listener `grpc`, and `admin` for operators. */
export function createEntitiesService(
  config: RecordServiceConfig,
  surroundings: Surroundings,
): Service<{ grpc: string; admin: string }> {
  return createRecordService({ name: 'entities', migrations }, config, surroundings, (context) => ({
    internal: internalServices(context),
    admin: adminServices(context),
  }));
}
