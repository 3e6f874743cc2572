import { credentialScope, type Scope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import { openRow, sealRow, type Seals } from '../../keys/seals.ts';
import { notSealedUnder, replaceSealed, SEALED_TABLES, type SealedRow, type SealedTable } from '../../store/sealed.ts';
import { operatorRpc } from './operator-rpc.ts';

/** Values that one call seals anew at most, of one table. */
const STEP = 500;

export const resealValues = operatorRpc<'resealValues'>(
  { action: 'secret.reseal', roles: ['admin'], token: 'none', bound: false },
  async (_request, { db, scope, seals, transact }) => {
    for (const table of SEALED_TABLES) {
      const found = await db.read(scope, notSealedUnder(table, seals[table].secretId, STEP));
      if (found.length === 0) continue;
      // Row-level security shows an operator all organizations, and lets each be changed by itself alone.
      const parts: [Scope, SealedRow[]][] =
        table === 'organizations' ? found.map((each) => [credentialScope(each.row, scope), [each]]) : [[scope, found]];
      let resealed = 0;
      for (const [within, rows] of parts) {
        const replaced = await db.run(within, replaceSealed(table, reseal(seals, table, rows)));
        resealed += replaced.length;
      }
      await transact((_query, audit) => audit('secret.reseal', `${resealed} values of ${table}`));
      // Values that changed meanwhile are left to the next call.
      return { resealed, done: false };
    }
    return { resealed: 0, done: true };
  },
);

function reseal(seals: Seals, table: SealedTable, rows: SealedRow[]) {
  return rows.map((each) => {
    return { row: each.row, before: each.sealed, after: sealRow(seals, table, each.row, open(seals, table, each)) };
  });
}

function open(seals: Seals, table: SealedTable, row: SealedRow): Buffer {
  try {
    return openRow(seals, table, row);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    throw new ServiceError('failed_precondition', `A value of auth.${table} can't be opened. ${reason}`, { cause: error });
  }
}
