import type { Migration } from '@crs/kit/data/migration';
import { createProjects } from './20261121T001000-create-projects.ts';
import { simplifyPolicies } from './20261122T140000-simplify-policies.ts';

export const migrations: Migration[] = [createProjects, simplifyPolicies];
