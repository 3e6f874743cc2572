import type { Migration } from '@crs/kit/data/migration';
import { createAuth } from './20261122T143000-create-auth.ts';
import { letAuditLeave } from './20261122T220000-let-audit-leave.ts';
import { giveDomainsOneOwner } from './20261125T010000-give-domains-one-owner.ts';
import { noteBrowsers } from './20261125T011000-note-browsers.ts';

export const migrations: Migration[] = [createAuth, letAuditLeave, giveDomainsOneOwner, noteBrowsers];
