import type { Migration } from '@crs/kit/migrate';
import { createCalls } from './20261120T234000-create-calls.ts';

export const migrations: Migration[] = [createCalls];
