import type { Migration } from '@crs/kit/data/migration';
import { createProjects } from './20261121T001000-create-projects.ts';

export const migrations: Migration[] = [createProjects];
