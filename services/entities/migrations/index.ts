import type { Migration } from '@crs/kit/data/migration';
import { createEntities } from './20261122T143000-create-entities.ts';

export const migrations: Migration[] = [createEntities];
