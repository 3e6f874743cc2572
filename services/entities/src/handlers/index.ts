import { bind, type BoundService } from '@crs/kit/rpc/server';
import type { RecordContext as Context } from '@crs/kit/product/record-service';
import { EntitiesServiceService } from '@crs/proto/crs/entities/v1/entities';
import { ErasureServiceService } from '@crs/proto/crs/erasures/v1/erasures';
import { ImportServiceService } from '@crs/proto/crs/imports/v1/imports';
import { erase } from './erase.ts';
import { importRecords } from './import-records.ts';
import { listUserEntities } from './list-user-entities.ts';

/** What the gateways ask. */
export function internalServices(context: Context): BoundService[] {
  return [bind(EntitiesServiceService, { listUserEntities: listUserEntities(context) })];
}

/** What operators do. */
export function adminServices(context: Context): BoundService[] {
  return [
    bind(ImportServiceService, { importRecords: importRecords(context) }),
    bind(ErasureServiceService, { erase: erase(context) }),
  ];
}
