import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import type { Transcript } from '../domain/call.ts';
import { DETAIL } from '../domain/columns.ts';
import { TRANSCRIPTS, transcriptsSql } from './transcripts.ts';

const ROW = {
  ...DETAIL,
  ...TRANSCRIPTS,
  /** Null: none was needed yet. */
  nameSecret: column.bytes.orNull,
};
const { columns, joins } = transcriptsSql(3);
const TEXT = `select ${column.selectList(DETAIL, 'c')}, ${columns},
    (select secret from calls.name_secrets where organization = $1) as "nameSecret"
  from calls.calls c ${joins} where c.organization = $1 and c.call_id = $2`;

/** One call with its transcripts of these kinds, all of one moment. */
export function getCall(organization: string, callId: string, kinds: Transcript['kind'][]): Statement<column.RowOf<typeof ROW>> {
  return { name: 'get_call', row: ROW, text: TEXT, values: [organization, callId, kinds] };
}
