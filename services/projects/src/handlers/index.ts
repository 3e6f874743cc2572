import { ImportService, RecordsService } from '@crs/records/import-batch';
import type { RecordContext } from '@crs/records/record-service';
import { retention } from '@crs/records/retention';
import { bind, type From } from '@crs/kit/rpc/server';
import { ErasureServiceService } from '@crs/proto/crs/erasures/v1/erasures';
import { ExportServiceService } from '@crs/proto/crs/exports/v1/exports';
import { ProjectsAdminServiceService } from '@crs/proto/crs/projects/v1/admin';
import { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import { pruneCreations } from '../store/creations.ts';
import { createProject } from './create-project.ts';
import { erase } from './erase.ts';
import { exportRecords } from './export-records.ts';
import { findReferences } from './find-references.ts';
import { getProject } from './get-project.ts';
import { imports } from './import-records.ts';
import { listBillingOffices } from './list-billing-offices.ts';
import { listChanges } from './list-changes.ts';
import { listOrganizationProjects } from './list-organization-projects.ts';
import { listProjects } from './list-projects.ts';
import { listUserProjects } from './list-user-projects.ts';

/** The programs that may call each RPC. */
const FROM: From<ProjectsServiceService> = {
  listBillingOffices: ['api-gateway'],
  createProject: ['api-gateway'],
  getProject: ['api-gateway'],
  listOrganizationProjects: ['api-gateway'],
  listUserProjects: ['tool-gateway'],
};

/** For the gateways. */
export function internalServices(context: RecordContext) {
  const pruneOnRead = retention('creations', context.db, context.log, pruneCreations);
  return [
    bind(ProjectsServiceService, FROM, {
      listBillingOffices: listBillingOffices(context, pruneOnRead),
      createProject: createProject(context, pruneOnRead),
      getProject: getProject(context, pruneOnRead),
      listOrganizationProjects: listOrganizationProjects(context),
      listUserProjects: listUserProjects(context),
    }),
    listChanges(context),
    bind(RecordsService, ['api-gateway'], imports(context).forKeys),
  ];
}

/** For operators. */
export function adminServices(context: RecordContext) {
  return [
    bind(ProjectsAdminServiceService, ['crs'], { listProjects: listProjects(context), findReferences: findReferences(context) }),
    bind(ImportService, ['crs'], imports(context).forOperators),
    bind(ExportServiceService, ['crs'], { exportRecords: exportRecords(context) }),
    bind(ErasureServiceService, ['crs'], { erase: erase(context) }),
  ];
}
