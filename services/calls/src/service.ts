import type { Service } from '@crs/kit/lifecycle';
import type { Logger } from '@crs/kit/log';
import { createRecordService, type RecordServiceConfig } from '@crs/kit/record-service';
import type { Context } from './context.ts';
import { adminServices, internalServices } from './handlers/index.ts';
import { NameSecrets } from './store/name-secrets.ts';

/** Call records: the internal listener `grpc`, and `admin` for operators. */
export function createCallsService(config: RecordServiceConfig, { log }: { log: Logger }): Service<{ grpc: string; admin: string }> {
  return createRecordService('calls', config, log, (base) => {
    const context: Context = { ...base, nameSecrets: new NameSecrets(base.db) };
    return { internal: internalServices(context), admin: adminServices(context) };
  });
}
