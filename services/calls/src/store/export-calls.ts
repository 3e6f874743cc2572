import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { METADATA, STORED } from '../domain/columns.ts';
import type { ExportedCall } from '../domain/export-line.ts';

const CALL = { ...METADATA, ...STORED, createdAt: column.timestamp, conductedBy: column.uuid.orNull };
const ROW = { ...CALL, notes: column.json<{ userId: string; text: string }[]>() };

const TEXT = `select ${column.selectList(CALL, 'c')},
    coalesce((
      select json_agg(json_build_object('userId', n.user_id, 'text', n.text))
      from calls.notes n where n.organization = $1 and n.call_id = c.call_id), '[]') as notes
  from calls.calls c where c.organization = $1 and c.call_id > $2 order by c.call_id`;

/** Whole calls after an id, in that order. */
export function exportCalls(organization: string, after: string): Statement<ExportedCall> {
  return { name: 'export_calls', row: ROW, text: TEXT, values: [organization, after] };
}
