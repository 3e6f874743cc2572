import { credentialScope, type Scope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import type { Encrypters } from '../../keys/encrypters.ts';
import {
  countEncrypted,
  notEncryptedUnder,
  replaceEncrypted,
  ENCRYPTED_TABLES,
  type EncryptedRow,
  type EncryptedTable,
} from '../../store/encrypted-values.ts';
import type { OperatorRpcs } from './operator-rpcs.ts';

/** The most values that one call encrypts again. */
const BATCH = 500;

export const secrets = {
  getSecretStatus: {
    access: { action: 'secret.status', roles: ['admin', 'viewer', 'auditor'], token: 'none', bound: false },
    async handle(_request, { secrets: configured, transact }) {
      const ids = new Set(configured.map(({ id }) => id));
      const values = new Map(configured.map(({ id }) => [id, 0]));
      await transact(async (query) => {
        for (const table of ENCRYPTED_TABLES) {
          for (const { secretId, count } of await query(countEncrypted(table)))
            values.set(secretId, (values.get(secretId) ?? 0) + count);
        }
      });
      return {
        secrets: [...values].map(([secretId, count]) => {
          return { secretId, configured: ids.has(secretId), seals: secretId === configured[0].id, values: count };
        }),
      };
    },
  },
  resealValues: {
    access: { action: 'secret.reseal', roles: ['admin'], token: 'none', bound: false },
    async handle(_request, { db, scope, encrypters, transact }) {
      for (const table of ENCRYPTED_TABLES) {
        const found = await db.read(scope, notEncryptedUnder(table, encrypters[table].secretId, BATCH));
        if (found.length === 0) continue;
        // Row-level security lets an operator read all organizations, but change only the one in scope.
        const batches: [Scope, EncryptedRow[]][] =
          table === 'organizations' ? found.map((each) => [credentialScope(each.row, scope), [each]]) : [[scope, found]];
        let resealed = 0;
        for (const [writeScope, rows] of batches) {
          const values = rows.map((row) => encryptAgain(encrypters, table, row));
          resealed += (await db.run(writeScope, replaceEncrypted(table, values))).length;
        }
        await transact((_query, audit) => audit('secret.reseal', `${resealed} values of ${table}`));
        // Values that changed in the meantime remain for the next call.
        return { resealed, done: false };
      }
      return { resealed: 0, done: true };
    },
  },
} satisfies Partial<OperatorRpcs>;

function encryptAgain(encrypters: Encrypters, table: EncryptedTable, { row, encrypted }: EncryptedRow) {
  try {
    return { row, before: encrypted, after: encrypters[table].encrypt(encrypters[table].decrypt(encrypted, row), row) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    throw new ServiceError('failed_precondition', `A value of auth.${table} can't be decrypted. ${reason}`, { cause: error });
  }
}
