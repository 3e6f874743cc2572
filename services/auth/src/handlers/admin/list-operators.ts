import { rpc } from '@crs/kit/rpc/server';
import type { ListOperatorsRequest, ListOperatorsResponse } from '@crs/proto/crs/auth/v1/admin';
import { toOperator } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { everyOrganization } from '../../every-organization.ts';
import { listOperators as list } from '../../store/operators.ts';

export function listOperators({ db }: Context) {
  return rpc(['operator'], async (_request: ListOperatorsRequest, call): Promise<ListOperatorsResponse> => {
    const rows = await db.read(everyOrganization(call), list());
    return { operators: rows.map(toOperator) };
  });
}
