import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { toAuditEntry } from '../../answers.ts';
import { countAction } from '../../count-action.ts';
import { listAudit as list, listAuditAfter, type AuditOf } from '../../store/audit.ts';
import { operatorRpc, type Operation } from './operator-rpc.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
const ACTION = 'audit.list';

export const listAudit = operatorRpc<'listAudit'>(
  { action: ACTION, roles: ['admin', 'auditor'], token: 'either', bound: true },
  async (request, operation) => {
    const { db, scope, identity, address } = operation;
    if (request.limit > MAX_LIMIT) throw invalid('limit', `must be 1 to ${MAX_LIMIT}`);
    const limit = request.limit || DEFAULT_LIMIT;
    const of = organizationsOf(operation);
    if (request.afterId === undefined) return { entries: (await db.read(scope, list(of, limit))).map(toAuditEntry) };
    const rows = await db.read(scope, listAuditAfter(of, request.afterId, limit));
    operation.auditedElsewhere();
    // A reader that follows the trail asks every second. It would follow its own entries forever if reading these made new ones.
    if (rows.some(({ actor, action }) => actor !== identity.name || action !== ACTION)) {
      const entry = {
        organization: scope.organization,
        actor: identity.name,
        action: ACTION,
        target: '',
        outcome: 'done',
        address,
      };
      await countAction(db, { ...entry, source: `operator ${identity.name}` });
    }
    return { entries: rows.map(toAuditEntry) };
  },
);

function organizationsOf({ organization, rights: { organizations } }: Operation): AuditOf {
  if (organization !== EVERY_ORGANIZATION) return [organization];
  return organizations.length > 0 ? organizations : EVERY_ORGANIZATION;
}
