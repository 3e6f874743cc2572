import { ImportService, RecordsService } from '@crs/records/import-batch';
import type { RecordContext } from '@crs/records/record-service';
import { bind, type From } from '@crs/kit/rpc/server';
import { CallsAdminServiceService } from '@crs/proto/crs/calls/v1/admin';
import { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import { ErasureServiceService } from '@crs/proto/crs/erasures/v1/erasures';
import { ExportServiceService } from '@crs/proto/crs/exports/v1/exports';
import { FeedHeadsServiceService } from '@crs/proto/crs/feeds/v1/feeds';
import { PeopleServiceService } from '@crs/proto/crs/people/v1/people';
import { beginErasure } from './begin-erasure.ts';
import { erase } from './erase.ts';
import { exportRecords } from './export-records.ts';
import { getOrganizationCall } from './get-organization-call.ts';
import { getUserCall } from './get-user-call.ts';
import { holds } from './holds.ts';
import { imports } from './import-records.ts';
import { listChanges } from './list-changes.ts';
import { listFeedHeads } from './list-feed-heads.ts';
import { listOrganizationCalls } from './list-organization-calls.ts';
import { listProjectSegments } from './list-project-segments.ts';
import { listUserCalls } from './list-user-calls.ts';
import { people } from './people/index.ts';
import { runRetention } from './run-retention.ts';

/** The programs that may call each RPC. */
const FROM: From<CallsServiceService> = {
  listOrganizationCalls: ['api-gateway'],
  getOrganizationCall: ['api-gateway'],
  listUserCalls: ['tool-gateway'],
  getUserCall: ['tool-gateway'],
  listProjectSegments: ['tool-gateway'],
};

/** For the gateways. */
export function internalServices(context: RecordContext) {
  return [
    bind(CallsServiceService, FROM, {
      listOrganizationCalls: listOrganizationCalls(context),
      getOrganizationCall: getOrganizationCall(context),
      listUserCalls: listUserCalls(context),
      getUserCall: getUserCall(context),
      listProjectSegments: listProjectSegments(context),
    }),
    listChanges(context),
    bind(FeedHeadsServiceService, ['webhooks'], { listFeedHeads: listFeedHeads(context) }),
    bind(RecordsService, ['api-gateway'], imports(context).forKeys),
  ];
}

/** For operators. */
export function adminServices(context: RecordContext) {
  return [
    bind(ImportService, ['crs'], imports(context).forOperators),
    bind(ExportServiceService, ['crs'], { exportRecords: exportRecords(context) }),
    bind(ErasureServiceService, ['crs'], { erase: erase(context) }),
    bind(PeopleServiceService, ['crs'], people(context)),
    bind(CallsAdminServiceService, ['crs'], {
      ...holds(context),
      beginErasure: beginErasure(context),
      runRetention: runRetention(context),
    }),
  ];
}
