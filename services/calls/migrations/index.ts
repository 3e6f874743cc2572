import type { Migration } from '@crs/kit/migrate';
import { createCalls } from './20261120T234000-create-calls.ts';
import { addLineHash } from './20261121T005000-add-line-hash.ts';

export const migrations: Migration[] = [createCalls, addLineHash];
