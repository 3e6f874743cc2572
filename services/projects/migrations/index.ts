import type { Migration } from '@crs/kit/data/migration';
import { createProjects } from './20261122T143000-create-projects.ts';

export const migrations: Migration[] = [createProjects];
