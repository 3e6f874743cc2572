import { toOperator } from '../../answers.ts';
import { isWithin } from '../../domain/operator-rights.ts';
import { listOperators as list } from '../../store/operators.ts';
import { operatorRpc } from './operator-rpc.ts';

export const listOperators = operatorRpc<'listOperators'>(
  { action: 'operator.list', roles: ['admin', 'viewer', 'auditor'], token: 'none', bound: true },
  async (_request, { db, scope, rights }) => {
    const rows = await db.read(scope, list());
    return { operators: rows.filter(({ organizations }) => isWithin(rights, organizations)).map(toOperator) };
  },
);
