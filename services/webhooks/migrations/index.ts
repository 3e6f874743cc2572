import type { Migration } from '@crs/kit/data/migration';
import { createWebhooks } from './20261126T013000-create-webhooks.ts';

export const migrations: Migration[] = [createWebhooks];
