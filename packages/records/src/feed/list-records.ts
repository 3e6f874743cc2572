import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { CallContext } from '@crs/kit/rpc/server';
import type { RecordContext } from '../record-service.ts';
import { renderList, toBytes } from '../response-json.ts';
import { CursorCache, unusableListCursor, type ListPosition } from './cursors.ts';
import { detailsSql, fitting, measuredColumns, type Measured, type Records } from './details.ts';
import type { Feed } from './feed.ts';

const MAX_LIMIT = 1_000;

/** The secret is the feed's, and the id null in the one row of an empty page. */
interface Listed {
  secret: Buffer;
  recordId: string | null;
}

interface Created {
  createdAt: Date;
}

/** Returns a statement that lists an organization's records, newest first, then by descending id. Without a feed, it returns no row. */
export function listStatement<Row extends Created>(service: string, records: Records<Row>, idType: column.Column<string>) {
  const { table, key } = records;
  const row = { secret: column.bytes, recordId: idType.orNull, ...measuredColumns(records) } as column.Columns<
    Listed & Measured<Row>
  >;
  const textOf = (condition: string) => {
    const { measured, columns } = detailsSql(records, 'positions', 3, 'read the first');
    return `with keys as (
        select ${key} as record_id, created_at from ${table} where organization = $1 ${condition}
        order by created_at desc, ${key} desc limit $2
      ),
      positions as (select record_id, row_number() over (order by created_at desc, record_id desc) as position from keys),
      ${measured}
      select f.secret, m.record_id as "recordId", ${columns}
      from ${service}.feeds f left join measured m on true where f.organization = $1 order by m.position`;
  };
  const [first, later] = [textOf(''), textOf(`and (created_at, ${key}) < ($3, $4)`)];
  return (organization: string, after: ListPosition | undefined, limit: number): Statement<Listed & Measured<Row>> =>
    after
      ? { name: 'list_records_after', row, text: later, values: [organization, limit, after.createdAt, after.recordId] }
      : { name: 'list_records', row, text: first, values: [organization, limit] };
}

/** Returns a function that reads a page of an organization's records, which ends at 8 MiB. */
export function recordLister<Row extends Created>(
  { db }: RecordContext,
  feed: Feed,
  list: ReturnType<typeof listStatement<Row>>,
  render: (row: Row, allowedFields: readonly string[]) => string,
) {
  const cursors = new CursorCache(db, feed);
  return async ({ cursor, limit }: { cursor?: string | undefined; limit: number }, call: CallContext<'organization'>) => {
    if (limit < 1 || limit > MAX_LIMIT) throw invalid('limit', `must be 1 to ${MAX_LIMIT}`);
    const scope = callerScope(call);
    const { organization } = scope;
    const opened = cursor === undefined ? undefined : await cursors.open(scope, (each) => each.decodeList(cursor));
    if (cursor !== undefined && !opened) throw unusableListCursor();
    // One more row than the page tells whether there is a next page.
    const read = () => db.read(scope, list(organization, opened?.position, limit + 1));
    const rows = await cursors.readPage(scope, read);
    const { secret } = rows[0]!;
    if (opened && !secret.equals(opened.secret)) throw unusableListCursor();
    const found = rows.filter(({ recordId }) => recordId !== null) as (Listed & Measured<Row> & Row)[];
    const page = fitting(found.slice(0, limit));
    const last = page.length < found.length ? page.at(-1) : undefined;
    return {
      json: await toBytes(renderList(page.map((row) => [render(row, call.identity.allowedFields)]))),
      nextCursor: last && cursors.of(organization, secret).encodeList({ createdAt: last.createdAt, recordId: last.recordId! }),
      count: page.length,
      firstId: page[0]?.recordId ?? undefined,
      lastId: page.at(-1)?.recordId ?? undefined,
    };
  };
}
