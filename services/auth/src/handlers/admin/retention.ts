import { noSuchOrganization } from '../../domain/not-found.ts';
import { findRetention } from '../../store/organizations.ts';
import type { OperatorRpcs } from './operator-rpcs.ts';

/** For the calls service, which deletes old calls and audits that. */
export const retention = {
  getRetention: {
    access: { action: 'retention.run', roles: ['admin', 'manager'], token: 'one', bound: true },
    async handle(_request, { db, scope, organization, auditedElsewhere }) {
      auditedElsewhere();
      const [row] = await db.read(scope, findRetention(organization));
      if (!row) throw noSuchOrganization();
      return { ...row, changedAt: row.retainChangedAt };
    },
  },
} satisfies Partial<OperatorRpcs>;
