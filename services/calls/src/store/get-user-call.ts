import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { METADATA, STORED } from '../domain/columns.ts';
import type { UserCall } from '../domain/stored-json/index.ts';

const CALL = { ...METADATA, detailJson: STORED.detailJson, createdAt: column.timestamp };
const ROW = { ...CALL, verbatim: STORED.verbatim, notes: column.text.orNull };
const TEXT = `select ${column.selectList(CALL)}, case when $5 then verbatim end as verbatim,
    (select n.text from calls.notes n where n.organization = $1 and n.call_id = $2 and n.user_id = $3) as notes
  from calls.calls where organization = $1 and call_id = $2 and (conducted_by = $3 or project_id = any($4::uuid[]))`;

/** Reads a call, if the user conducted it or may see its project, with the user's own notes. */
export function getUserCall(
  organization: string,
  userId: string,
  visible: string[],
  callId: string,
  withTranscript: boolean,
): Statement<UserCall> {
  return { name: 'get_user_call', row: ROW, text: TEXT, values: [organization, callId, userId, visible, withTranscript] };
}
