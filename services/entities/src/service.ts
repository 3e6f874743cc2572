import type { Service } from '@crs/kit/lifecycle';
import type { Logger } from '@crs/kit/log';
import { createRecordService, type RecordServiceConfig } from '@crs/kit/record-service';
import { adminServices, internalServices } from './handlers/index.ts';

/** Entities recognized in calls: the internal listener `grpc`, and `admin` for operators. */
export function createEntitiesService(
  config: RecordServiceConfig,
  { log }: { log: Logger },
): Service<{ grpc: string; admin: string }> {
  return createRecordService('entities', config, log, (context) => ({
    internal: internalServices(context),
    admin: adminServices(context),
  }));
}
