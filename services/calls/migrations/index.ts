import type { Migration } from '@crs/kit/data/migration';
import { createCalls } from './20261120T234000-create-calls.ts';
import { addLineHash } from './20261121T005000-add-line-hash.ts';
import { makeKeyNewest } from './20261121T040000-make-key-newest.ts';
import { addFeeds } from './20261122T070000-add-feeds.ts';
import { placeStoredCalls } from './20261122T071000-place-stored-calls.ts';
import { simplifyPolicies } from './20261122T140000-simplify-policies.ts';

export const migrations: Migration[] = [createCalls, addLineHash, makeKeyNewest, addFeeds, placeStoredCalls, simplifyPolicies];
