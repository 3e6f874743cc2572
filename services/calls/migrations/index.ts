import type { Migration } from '@crs/kit/data/migration';
import { createCalls } from './20261120T234000-create-calls.ts';
import { addLineHash } from './20261121T005000-add-line-hash.ts';
import { makeKeyNewest } from './20261121T040000-make-key-newest.ts';

export const migrations: Migration[] = [createCalls, addLineHash, makeKeyNewest];
