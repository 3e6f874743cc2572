import type { Runtime } from '@crs/kit/process/lifecycle';
import { createRecordService, type RecordServiceConfig } from '@crs/records/record-service';
import { migrations } from '../migrations/index.ts';
import * as handlers from './handlers/index.ts';

export function createCallsService(config: RecordServiceConfig, runtime: Runtime) {
  return createRecordService({ name: 'calls', migrations, ...handlers }, config, runtime);
}
