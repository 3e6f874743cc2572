import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { METADATA, STORED } from '../domain/columns.ts';
import type { ExportedCall } from '../domain/export-line.ts';
import { BY_KEY } from './import-calls.ts';

const CALL = { ...METADATA, ...STORED, createdAt: column.timestamp, conductedBy: column.uuid.orNull };
const ROW = { ...CALL, notes: column.json<{ userId: string; text: string }[]>() };

const COLUMNS = `${column.selectList(CALL, 'c')},
    coalesce((
      select json_agg(json_build_object('userId', n.user_id, 'text', n.text))
      from calls.notes n where n.organization = $1 and n.call_id = c.call_id), '[]') as notes`;
const TEXT = `select ${COLUMNS} from calls.calls c where c.organization = $1 and c.call_id > $2 order by c.call_id`;

/** Whole calls after an id, in that order. */
export function exportCalls(organization: string, after: string): Statement<ExportedCall> {
  return { name: 'export_calls', row: ROW, text: TEXT, values: [organization, after] };
}

const FIND = `select ${COLUMNS} from unnest($2::text[]) as wanted (call_id) cross join lateral (${BY_KEY}) c`;

/** Whole calls with these ids. */
export function findCalls(organization: string, callIds: string[]): Statement<ExportedCall> {
  return { name: 'find_calls', row: ROW, text: FIND, values: [organization, callIds] };
}

const LENGTH = { id: column.text, length: column.integer };
const TEXTS = Object.keys(STORED).map((name) => `coalesce(octet_length(c.${column.snakeCase(name)}), 0)`);
const FIND_LENGTHS = `select c.call_id as id, (${TEXTS.join(' + ')} + coalesce((
      select sum(octet_length(n.text)) from calls.notes n where n.organization = $1 and n.call_id = c.call_id), 0))::integer as length
  from unnest($2::text[]) as wanted (call_id) cross join lateral (${BY_KEY}) c`;

/** The lengths of the texts of stored calls, in bytes. */
export function findLengths(organization: string, callIds: string[]): Statement<column.RowOf<typeof LENGTH>> {
  return { name: 'find_call_lengths', row: LENGTH, text: FIND_LENGTHS, values: [organization, callIds] };
}
