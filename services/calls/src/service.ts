import type { Service, Surroundings } from '@crs/kit/process/lifecycle';
import { createRecordService, type RecordServiceConfig } from '@crs/records/record-service';
import { migrations } from '../migrations/index.ts';
import { adminServices, internalServices } from './handlers/index.ts';

/** The service for call records. It listens on `grpc` for the gateways and on `admin` for operators. */
export function createCallsService(
  config: RecordServiceConfig,
  surroundings: Surroundings,
): Service<{ grpc: string; admin: string }> {
  return createRecordService({ name: 'calls', migrations }, config, surroundings, (context) => ({
    internal: internalServices(context),
    admin: adminServices(context),
  }));
}
