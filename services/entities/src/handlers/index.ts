import { ImportService, RecordsService } from '@crs/records/import-batch';
import type { RecordContext } from '@crs/records/record-service';
import { bind, type From } from '@crs/kit/rpc/server';
import { EntitiesServiceService } from '@crs/proto/crs/entities/v1/entities';
import { ErasureServiceService } from '@crs/proto/crs/erasures/v1/erasures';
import { ExportServiceService } from '@crs/proto/crs/exports/v1/exports';
import { erase } from './erase.ts';
import { exportRecords } from './export-records.ts';
import { imports } from './import-records.ts';
import { listChanges } from './list-changes.ts';
import { listOrganizationEntities } from './list-organization-entities.ts';
import { listUserEntities } from './list-user-entities.ts';

/** The programs that may call each RPC. */
const FROM: From<EntitiesServiceService> = {
  listOrganizationEntities: ['api-gateway'],
  listUserEntities: ['tool-gateway'],
};

/** For the gateways. */
export function internalServices(context: RecordContext) {
  return [
    bind(EntitiesServiceService, FROM, {
      listOrganizationEntities: listOrganizationEntities(context),
      listUserEntities: listUserEntities(context),
    }),
    listChanges(context),
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
