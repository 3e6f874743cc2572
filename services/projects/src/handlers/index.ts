import { bind } from '@crs/kit/rpc/server';
import { ErasureServiceService } from '@crs/proto/crs/erasures/v1/erasures';
import { ImportServiceService } from '@crs/proto/crs/imports/v1/imports';
import { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import type { RecordContext as Context } from '@crs/kit/product/record-service';
import { createProject } from './create-project.ts';
import { erase } from './erase.ts';
import { getProject } from './get-project.ts';
import { importRecords } from './import-records.ts';
import { listBillingOffices } from './list-billing-offices.ts';
import { listUserProjects } from './list-user-projects.ts';

/** What the gateways ask. */
export function internalServices(context: Context) {
  return [
    bind(ProjectsServiceService, {
      listBillingOffices: listBillingOffices(context),
      createProject: createProject(context),
      getProject: getProject(context),
      listUserProjects: listUserProjects(context),
    }),
  ];
}

/** What operators do. */
export function adminServices(context: Context) {
  return [
    bind(ImportServiceService, { importRecords: importRecords(context) }),
    bind(ErasureServiceService, { erase: erase(context) }),
  ];
}
