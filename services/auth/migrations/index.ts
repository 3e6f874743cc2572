import type { Migration } from '@crs/kit/migrate';
import { createTenants } from './20261120T233000-create-tenants.ts';

export const migrations: Migration[] = [createTenants];
