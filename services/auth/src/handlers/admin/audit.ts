import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { AuditEntry, SettingChange } from '@crs/proto/crs/auth/v1/admin';
import { countOperatorAction } from '../../count-action.ts';
import type { SettingChanges } from '../../domain/settings.ts';
import { listAudit, listAuditAfter, type OrganizationIds, type EntryRow } from '../../store/audit.ts';
import type { Operation, OperatorRpcs } from './operator-rpcs.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
const ACTION = 'audit.list';

export const audit = {
  listAudit: {
    access: { action: ACTION, roles: ['admin', 'auditor'], token: 'either', bound: true },
    async handle(request, operation) {
      const { db, scope, identity, address } = operation;
      if (request.limit > MAX_LIMIT) throw invalid('limit', `must be 1 to ${MAX_LIMIT}`);
      const limit = request.limit || DEFAULT_LIMIT;
      const ids = organizationsOf(operation);
      if (request.afterId === undefined) return { entries: (await db.read(scope, listAudit(ids, limit))).map(toAuditEntry) };
      const rows = await db.read(scope, listAuditAfter(ids, request.afterId, limit));
      operation.auditedElsewhere();
      // A client that follows the trail polls every second. If polls that return only its own entries were recorded, they would never end.
      if (rows.some(({ actor, action }) => actor !== identity.name || action !== ACTION)) {
        await countOperatorAction(db, identity, { action: ACTION, target: '', address });
      }
      return { entries: rows.map(toAuditEntry) };
    },
  },
} satisfies Partial<OperatorRpcs>;

function organizationsOf({ organization, rights: { organizations } }: Operation): OrganizationIds {
  if (organization !== EVERY_ORGANIZATION) return [organization];
  return organizations.length > 0 ? organizations : EVERY_ORGANIZATION;
}

function toAuditEntry({ auditId, organization, changes, address, ...entry }: EntryRow): AuditEntry {
  return {
    ...entry,
    id: Number(auditId),
    organizationId: organization === EVERY_ORGANIZATION ? '' : organization,
    changes: toSettingChanges(changes ?? {}),
    address: address ?? '',
  };
}

export function toSettingChanges(changes: SettingChanges): SettingChange[] {
  return Object.entries(changes).map(([setting, { from, to }]) => ({
    setting,
    from: JSON.stringify(from),
    to: JSON.stringify(to),
  }));
}
