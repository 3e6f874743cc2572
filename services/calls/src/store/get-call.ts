import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import type { Transcript } from '../domain/call.ts';
import { DETAIL } from '../domain/columns.ts';

const ROW = {
  ...DETAIL,
  transcripts: column.json<Transcript[]>(),
  /** Null: none was needed yet. */
  nameSecret: column.bytes.orNull,
};
const TEXT = `select ${column.selectList(DETAIL)},
    coalesce((
      select json_agg(json_build_object('kind', t.kind, 'text', t.text, 'segments', t.segments))
      from calls.transcripts t where t.organization = $1 and t.call_id = $2 and t.kind = any($3)), '[]') as transcripts,
    (select secret from calls.name_secrets where organization = $1) as "nameSecret"
  from calls.calls where organization = $1 and call_id = $2`;

/** One call with its transcripts of these kinds, all of one moment. */
export function getCall(organization: string, callId: string, kinds: Transcript['kind'][]): Statement<column.RowOf<typeof ROW>> {
  return { name: 'get_call', row: ROW, text: TEXT, values: [organization, callId, kinds] };
}
