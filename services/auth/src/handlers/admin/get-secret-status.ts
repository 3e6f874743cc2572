import { countSealed, SEALED_TABLES } from '../../store/sealed.ts';
import { operatorRpc } from './operator-rpc.ts';

export const getSecretStatus = operatorRpc<'getSecretStatus'>(
  { action: 'secret.status', roles: ['admin', 'viewer', 'auditor'], token: 'none', bound: false },
  async (_request, { secrets, transact }) =>
    transact(async (query) => {
      const values = new Map(secrets.map(({ id }) => [id, 0]));
      for (const table of SEALED_TABLES) {
        for (const { secretId, count } of await query(countSealed(table)))
          values.set(secretId, (values.get(secretId) ?? 0) + count);
      }
      const ids = new Set(secrets.map(({ id }) => id));
      return {
        secrets: [...values].map(([secretId, count]) => ({
          secretId,
          configured: ids.has(secretId),
          seals: secretId === secrets[0].id,
          values: count,
        })),
      };
    }),
);
