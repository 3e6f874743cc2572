import { bind, type BoundService } from '@crs/kit/grpc-server';
import type { RecordContext as Context } from '@crs/kit/record-service';
import { ErasureServiceService } from '@crs/proto/crs/erasures/v1/erasures';
import { ImportServiceService } from '@crs/proto/crs/imports/v1/imports';
import { erase } from './erase.ts';
import { importRecords } from './import-records.ts';

/** What the gateways ask: nothing yet. */
export function internalServices(_context: Context): BoundService[] {
  return [];
}

/** What operators do. */
export function adminServices(context: Context): BoundService[] {
  return [bind(ImportServiceService, { importRecords: importRecords(context) }), bind(ErasureServiceService, { erase: erase(context) })];
}
