import type { Migration } from '@crs/kit/data/migration';
import { createEntities } from './20261121T001500-create-entities.ts';
import { makeKeyNewest } from './20261121T040000-make-key-newest.ts';
import { simplifyPolicies } from './20261122T140000-simplify-policies.ts';

export const migrations: Migration[] = [createEntities, makeKeyNewest, simplifyPolicies];
