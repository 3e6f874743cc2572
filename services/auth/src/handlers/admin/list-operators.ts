import { toOperator } from '../../answers.ts';
import { everyOrganization } from '../../every-organization.ts';
import { listOperators as list } from '../../store/operators.ts';
import { operatorRpc } from './operator-rpc.ts';

export const listOperators = operatorRpc<'listOperators'>(everyOrganization, async (_request, { db, scope }) => {
  const rows = await db.read(scope, list());
  return { operators: rows.map(toOperator) };
});
