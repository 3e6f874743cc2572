import { countSealed, SEALED_TABLES } from '../../store/sealed.ts';
import { operatorRpc } from './operator-rpc.ts';

/** The id in answers for values that name no secret. */
const NAMELESS = '';

export const getSecretStatus = operatorRpc<'getSecretStatus'>(
  { action: 'secret.status', roles: ['admin', 'viewer', 'auditor'], token: 'none', bound: false },
  async (_request, { secrets, transact }) =>
    transact(async (query) => {
      const sealsNameless = secrets[0].plain === true;
      const values = new Map(secrets.map(({ id, plain }) => [plain ? NAMELESS : id, 0]));
      for (const table of SEALED_TABLES) {
        for (const { secretId, count } of await query(countSealed(table))) {
          const id = secretId ?? NAMELESS;
          values.set(id, (values.get(id) ?? 0) + count);
        }
      }
      const ids = new Set(secrets.map(({ id }) => id));
      return {
        secrets: [...values].map(([secretId, count]) => ({
          secretId,
          configured: secretId === NAMELESS || ids.has(secretId),
          seals: secretId === (sealsNameless ? NAMELESS : secrets[0].id),
          values: count,
        })),
      };
    }),
);
