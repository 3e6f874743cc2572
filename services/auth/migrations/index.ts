import type { Migration } from '@crs/kit/data/migration';
import { createAuth } from './20261122T143000-create-auth.ts';
import { letAuditLeave } from './20261122T220000-let-audit-leave.ts';

export const migrations: Migration[] = [createAuth, letAuditLeave];
