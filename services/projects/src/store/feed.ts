import * as column from '@crs/kit/data/column';
import type { Records } from '@crs/records/feed/details';
import { feedOf } from '@crs/records/feed/feed';
import { listStatement } from '@crs/records/feed/list-records';
import { PROJECT, type ProjectRow } from './projects.ts';

/** The changes of projects. */
export const feed = feedOf('projects', 'project', column.uuid);

const PROJECTS: Records<ProjectRow> = {
  table: 'projects.projects',
  key: 'project_id',
  columns: PROJECT,
  select: () => column.selectList(PROJECT, 'c'),
  present: 'projectId',
  long: ['name', 'summary', 'status', 'billingOfficeName'],
};

/** Lists a page of changes with the projects in full. */
export const listChangesWithDetails = feed.withDetails(PROJECTS, { columns: {}, sql: '' });

export const listOrganizationProjects = listStatement('projects', PROJECTS, column.uuid);
