/** Stores of a copy in PostgreSQL and in SQLite. Both use the same tables as the Python client, so that either client can continue the other's copy. */
import { ProtocolError } from './errors.ts';
import type { Position, RecordType, Store, StoredChange } from './sync.ts';

/** A `Pool` of the package pg. */
export interface PostgresPool {
  query: PostgresConnection['query'];
  connect(): Promise<PostgresConnection>;
}

export interface PostgresConnection {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>;
  /** @param destroy whether to close the connection instead of returning it to the pool */
  release(destroy?: boolean): void;
}

/** A `DatabaseSync` of node:sqlite, or a `Database` of the package better-sqlite3. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: (string | null)[]): { changes: number | bigint }; get(): unknown };
}

const TABLES: Record<RecordType, { table: string; key: string }> = {
  call: { table: 'call_research_calls', key: 'call_id' },
  project: { table: 'call_research_projects', key: 'project_id' },
  entity: { table: 'call_research_entities', key: 'entity_id' },
};

/** `json` keeps the text of a document; `jsonb` would reformat numbers. */
const tables = (json: 'json' | 'text') => `
  ${Object.values(TABLES)
    .map(({ table, key }) => {
      const columns = `${key} text primary key, document ${json} not null, changed_at text not null, resync text`;
      return `create table if not exists ${table} (${columns});`;
    })
    .join('\n')}
  create table if not exists call_research_sync (one integer primary key check (one = 1), cursor text, resync text);
  insert into call_research_sync (one) values (1) on conflict do nothing;`;

const anotherSync = () =>
  new ProtocolError('another sync of this copy is running: let it finish, and run one sync of a copy at a time');

/** A copy in PostgreSQL, in the tables `call_research_*` of the connection's first schema. It creates missing tables. */
export function postgresStore(pool: PostgresPool): Store {
  const move = async (connection: PostgresConnection, at: Position, { cursor, resync }: Position) => {
    const { rowCount } = await connection.query(
      'update call_research_sync set cursor = $1, resync = $2 where cursor is not distinct from $3 and resync is not distinct from $4',
      [cursor, resync, at.cursor, at.resync],
    );
    if (rowCount !== 1) throw anotherSync();
  };
  const transact = async (work: (connection: PostgresConnection) => Promise<unknown>) => {
    const connection = await pool.connect();
    let isBroken = true;
    try {
      await connection.query('begin');
      await work(connection);
      await connection.query('commit');
      isBroken = false;
    } finally {
      // Closing a broken connection also ends its transaction.
      connection.release(isBroken);
    }
  };
  return {
    load: async () => {
      await pool.query(tables('json'));
      return (await pool.query('select cursor, resync from call_research_sync')).rows[0] as Position;
    },
    begin: (at, resync) => transact((connection) => move(connection, at, { cursor: null, resync })),
    apply: (at, changes, cursor) =>
      transact(async (connection) => {
        await move(connection, at, { cursor, resync: at.resync });
        for (const { table, key, changed, deleted } of byTable(changes)) {
          await connection.query(
            `insert into ${table} (${key}, document, changed_at, resync)
             select id, document::json, changed_at, $4 from unnest($1::text[], $2::text[], $3::text[]) as page (id, document, changed_at)
             on conflict (${key}) do update set document = excluded.document, changed_at = excluded.changed_at, resync = excluded.resync`,
            [
              changed.map(({ id }) => id),
              changed.map((each) => each.document),
              changed.map((each) => each.changed_at),
              at.resync,
            ],
          );
          await connection.query(`delete from ${table} where ${key} = any($1)`, [deleted.map(({ id }) => id)]);
        }
      }),
    end: (at) =>
      transact(async (connection) => {
        await move(connection, at, { cursor: at.cursor, resync: null });
        for (const { table } of Object.values(TABLES)) {
          await connection.query(`delete from ${table} where resync is distinct from $1`, [at.resync]);
        }
      }),
  };
}

/** A copy in SQLite, in the tables `call_research_*`. It creates missing tables. */
export function sqliteStore(database: SqliteDatabase): Store {
  const move = (at: Position, { cursor, resync }: Position) => {
    const update = database.prepare('update call_research_sync set cursor = ?, resync = ? where cursor is ? and resync is ?');
    if (Number(update.run(cursor, resync, at.cursor, at.resync).changes) !== 1) throw anotherSync();
  };
  const transact = async (work: () => void) => {
    database.exec('begin immediate');
    try {
      work();
      database.exec('commit');
    } catch (error) {
      database.exec('rollback');
      throw error;
    }
  };
  return {
    load: async () => {
      database.exec(tables('text'));
      const { cursor, resync } = database.prepare('select cursor, resync from call_research_sync').get() as Position;
      return { cursor, resync };
    },
    begin: (at, resync) => transact(() => move(at, { cursor: null, resync })),
    apply: (at, changes, cursor) =>
      transact(() => {
        move(at, { cursor, resync: at.resync });
        for (const { table, key, changed, deleted } of byTable(changes)) {
          const replace = database.prepare(
            `insert or replace into ${table} (${key}, document, changed_at, resync) values (?, ?, ?, ?)`,
          );
          const remove = database.prepare(`delete from ${table} where ${key} = ?`);
          for (const change of changed) replace.run(change.id, change.document, change.changed_at, at.resync);
          for (const change of deleted) remove.run(change.id);
        }
      }),
    end: (at) =>
      transact(() => {
        move(at, { cursor: at.cursor, resync: null });
        for (const { table } of Object.values(TABLES))
          database.prepare(`delete from ${table} where resync is not ?`).run(at.resync);
      }),
  };
}

/** Groups the changes of a page. Returns only tables that change. */
function byTable(changes: StoredChange[]) {
  return (Object.keys(TABLES) as RecordType[]).flatMap((record) => {
    const ofTable = changes.filter(({ type }) => type === record);
    const changed = ofTable.filter(({ document }) => document !== null);
    const deleted = ofTable.filter(({ document }) => document === null);
    return ofTable.length > 0 ? [{ ...TABLES[record], changed, deleted }] : [];
  });
}
