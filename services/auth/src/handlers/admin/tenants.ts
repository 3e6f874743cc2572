import { invalid, ServiceError } from '@crs/kit/errors';
import type { ApplyTenantRequest, ApplyTenantResponse } from '@crs/proto/crs/auth/v1/admin';
import { parseLine } from '@crs/records/import-record';
import { transactIf } from '@crs/records/transact-if';
import { tenantEntry, type Tenant } from '../../domain/tenant.ts';
import { requireOrganization } from '../../store/organizations.ts';
import { applyTenant, planIdOf } from '../../tenants/apply.ts';
import type { Application } from '../../tenants/context.ts';
import { exportTenant } from '../../tenants/export.ts';
import { reviewAccess } from '../../tenants/review.ts';
import { setsView, waitForViewCaches } from '../../view-settings.ts';
import { toSettingChanges } from './audit.ts';
import { inTransaction, type Operation, type OperatorRpcs } from './operator-rpcs.ts';

/** Organizations as desired states, for `crs apply`. */
export const tenants = {
  applyTenant: {
    access: { action: 'tenant.apply', roles: ['admin', 'manager'], token: 'one', bound: true },
    async handle(request, operation) {
      const tenant = parseTenant(request.stateJson, operation.organization);
      if (request.plan) {
        const application = await plan(request, operation, tenant);
        await operation.transact((_query, audit) => audit('tenant.plan', ''));
        return toResponse(application);
      }
      const response = await operation.transact(async (query, audit) => {
        const application = begin(request, operation, query, audit);
        await applyTenant(application, tenant, request.oidcClientSecret);
        const applied = toResponse(application);
        if (request.planId !== '' && request.planId !== applied.planId) throw planChanged();
        return applied;
      });
      if (setsView(tenant.change)) await waitForViewCaches();
      return response;
    },
  },
  exportTenant: {
    access: { action: 'tenant.export', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true },
    handle: inTransaction(async (_request, { organization, query }) => ({
      stateJson: Buffer.from(JSON.stringify(await exportTenant(query, organization))),
    })),
  },
  reviewAccess: {
    access: { action: 'access.review', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true },
    async handle({ after }, { transact, organization, auditedElsewhere }) {
      // The first page's entry is that of the whole review.
      if (after !== '') auditedElsewhere();
      return transact(async (query) => {
        await requireOrganization(query, organization);
        return reviewAccess(query, organization, after);
      });
    },
  },
} satisfies Partial<OperatorRpcs>;

/** Applies the state, and rolls it back. */
function plan(request: ApplyTenantRequest, operation: Operation, tenant: Tenant): Promise<Application> {
  const { db, scope } = operation;
  return transactIf(
    db,
    scope,
    async (query) => {
      const application = begin(request, operation, query, async () => {});
      await applyTenant(application, tenant, request.oidcClientSecret);
      return application;
    },
    () => false,
  );
}

function begin(
  { prune }: ApplyTenantRequest,
  { organization, rights, encrypters }: Operation,
  query: Application['query'],
  audit: Application['audit'],
): Application {
  return { organization, rights, encrypters, query, audit, prune, changes: [], notes: [] };
}

function parseTenant(json: Uint8Array, organization: string): Tenant {
  const parsed = parseLine(tenantEntry, json);
  if ('reason' in parsed) throw invalid(parsed.field || 'state', parsed.reason);
  if (parsed.record.organization !== organization) throw invalid('id', 'must be the organization of the operator token');
  return parsed.record;
}

function planChanged(): ServiceError {
  return new ServiceError('aborted', 'The organization changed since it was planned, and nothing was applied. Plan it again.');
}

function toResponse(application: Application): ApplyTenantResponse {
  const { changes, notes } = application;
  const toMessage = ({ settings, ...change }: (typeof changes)[number]) => ({ ...change, settings: toSettingChanges(settings) });
  return { changes: changes.map(toMessage), notes, planId: planIdOf(application) };
}
