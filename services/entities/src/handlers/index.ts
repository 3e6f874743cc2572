import { ImportService, RecordsService } from '@crs/records/import-batch';
import type { RecordContext } from '@crs/records/record-service';
import { bind } from '@crs/kit/rpc/server';
import { EntitiesServiceService } from '@crs/proto/crs/entities/v1/entities';
import { ErasureServiceService } from '@crs/proto/crs/erasures/v1/erasures';
import { ExportServiceService } from '@crs/proto/crs/exports/v1/exports';
import { erase } from './erase.ts';
import { exportRecords } from './export-records.ts';
import { imports } from './import-records.ts';
import { listUserEntities } from './list-user-entities.ts';

/** For the gateways. */
export function internalServices(context: RecordContext) {
  return [
    bind(EntitiesServiceService, ['tool-gateway'], { listUserEntities: listUserEntities(context) }),
    bind(RecordsService, ['api-gateway'], imports(context).forKeys),
  ];
}

/** For operators. */
export function adminServices(context: RecordContext) {
  return [
    bind(ImportService, ['crs'], imports(context).forOperators),
    bind(ExportServiceService, ['crs'], { exportRecords: exportRecords(context) }),
    bind(ErasureServiceService, ['crs'], { erase: erase(context) }),
  ];
}
