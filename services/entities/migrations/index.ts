import type { Migration } from '@crs/kit/data/migration';
import { createEntities } from './20261121T001500-create-entities.ts';
import { makeKeyNewest } from './20261121T040000-make-key-newest.ts';

export const migrations: Migration[] = [createEntities, makeKeyNewest];
