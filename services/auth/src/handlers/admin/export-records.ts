import type { Database } from '@crs/kit/data/database';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { exportRpc, nextOf, readPage, withoutNulls } from '@crs/records/export';
import type { Context } from '../../context.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { operatorEntry } from '../../store/audit.ts';
import { findOrganization } from '../../store/organizations.ts';
import { exportUsers } from '../../store/users.ts';

export function exportRecords({ db }: Context) {
  return exportRpc(
    'auth',
    ({ action, target, address }, call) => db.run(callerScope(call), operatorEntry(call.identity, action, target, { address })),
    {
      organization: async (_after, call) => ({ lines: [await organizationLine(db, callerScope(call))], next: '' }),
      user: async (after, call) => {
        const scope = callerScope(call);
        const page = await readPage(db, scope, exportUsers(scope.organization, after));
        const lines = page.rows.map(({ email, name, disabledAt }) =>
          withoutNulls({ type: 'user', organization: scope.organization, email, name, disabled: disabledAt && true }),
        );
        return { lines, next: nextOf(page, ({ emailFolded }) => emailFolded) };
      },
    },
  );
}

/** @throws ServiceError not_found */
async function organizationLine(db: Database, scope: Scope): Promise<object> {
  const [row] = await db.run(scope, findOrganization(scope.organization));
  if (!row) throw noSuchOrganization();
  return {
    type: 'organization',
    id: row.organization,
    ...(row.name !== null && { name: row.name }),
    write_surface: row.writeSurface,
    anonymize_interviewees: row.anonymizeInterviewees,
    // Null imports as the default set. If it were absent, an import into an existing organization would keep the fields of that one.
    allowed_fields: row.allowedFields,
    rate_limit: { requests: row.rateLimitRequests, period_seconds: row.rateLimitPeriodSeconds },
    tool_rate_limit: { requests: row.toolRateLimitRequests, period_seconds: row.toolRateLimitPeriodSeconds },
    delete_limit: row.deleteLimit,
    retain_calls: row.retainCalls,
    retain_by: row.retainBy,
    retain_per_day: row.retainPerDay,
    clients: row.clients,
    client_hosts: row.clientHosts,
    own_tokens: row.ownTokens,
  };
}
