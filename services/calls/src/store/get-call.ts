import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { CALL, callColumns, callParameters, type Seen } from './details.ts';

const ROW = {
  ...CALL,
  /** Null: not created yet. */
  nameSecret: column.bytes.orNull,
};
const TEXT = `select ${callColumns(3)}, (select secret from calls.name_secrets where organization = $1) as "nameSecret"
  from calls.calls c where c.organization = $1 and c.call_id = $2`;

/** Reads a call as the caller may see it, in one snapshot. */
export function getCall(organization: string, callId: string, seen: Seen): Statement<column.RowOf<typeof ROW>> {
  return { name: 'get_call', row: ROW, text: TEXT, values: [organization, callId, ...callParameters(seen)] };
}
