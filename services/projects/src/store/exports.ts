import type { Statement } from '@crs/kit/data/database';
import { SELECT_OFFICES, OFFICE, type OfficeRow } from './billing-offices.ts';
import { PROJECT, SELECT_PROJECTS, type ProjectRow } from './projects.ts';

/** Offices after a name, in that order. */
export function exportOffices(organization: string, after: string): Statement<OfficeRow> {
  return {
    name: 'export_offices',
    row: OFFICE,
    text: `${SELECT_OFFICES} where organization = $1 and name > $2 order by name`,
    values: [organization, after],
  };
}

/** Projects after an id, in that order. */
export function exportProjects(organization: string, after: string | null): Statement<ProjectRow> {
  return {
    name: 'export_projects',
    row: PROJECT,
    text: `${SELECT_PROJECTS} where organization = $1 and ($2::uuid is null or project_id > $2) order by project_id`,
    values: [organization, after],
  };
}
