import type { Migration } from '@crs/kit/migrate';
import { createEntities } from './20261121T001500-create-entities.ts';

export const migrations: Migration[] = [createEntities];
