import type { Migration } from '@crs/kit/data/migration';
import { createTenants } from './20261120T233000-create-tenants.ts';
import { markErasures } from './20261121T002000-mark-erasures.ts';
import { addGrants } from './20261121T010000-add-grants.ts';
import { addSignIn } from './20261121T034000-add-sign-in.ts';
import { addOidcProviders } from './20261121T035000-add-oidc-providers.ts';
import { giveOperatorsRoles } from './20261122T100000-give-operators-roles.ts';
import { addAuditOutcomes } from './20261122T100100-add-audit-outcomes.ts';
import { indexCountedAudit } from './20261122T100200-index-counted-audit.ts';
import { versionSessions } from './20261122T110000-version-sessions.ts';
import { retireSigningKeys } from './20261122T120000-retire-signing-keys.ts';
import { versionSettings } from './20261122T130000-version-settings.ts';
import { simplifyPolicies } from './20261122T140000-simplify-policies.ts';

export const migrations: Migration[] = [
  createTenants,
  markErasures,
  addGrants,
  addSignIn,
  addOidcProviders,
  giveOperatorsRoles,
  addAuditOutcomes,
  indexCountedAudit,
  versionSessions,
  retireSigningKeys,
  versionSettings,
  simplifyPolicies,
];
