import type { Migration } from '@crs/kit/data/migration';
import { createCalls } from './20261122T143000-create-calls.ts';

export const migrations: Migration[] = [createCalls];
