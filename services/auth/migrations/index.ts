import type { Migration } from '@crs/kit/data/migration';
import { createAuth } from './20261122T143000-create-auth.ts';

export const migrations: Migration[] = [createAuth];
