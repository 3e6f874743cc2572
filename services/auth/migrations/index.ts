import type { Migration } from '@crs/kit/data/migration';
import { createAuth } from './20261125T033000-create-auth.ts';

export const migrations: Migration[] = [createAuth];
