/** Copies in PostgreSQL and in SQLite. Both use the same tables, also those of the Python client, so that any of them goes on where another stopped. */
import { ProtocolError } from './errors.ts';
import type { Position, Store, StoredChange } from './sync.ts';

/** A `Pool` of the package pg. */
export interface PostgresPool {
  query: PostgresConnection['query'];
  connect(): Promise<PostgresConnection>;
}

export interface PostgresConnection {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>;
  /** @param destroy whether the connection is closed instead of used again */
  release(destroy?: boolean): void;
}

/** A `DatabaseSync` of node:sqlite, or a `Database` of the package better-sqlite3. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: (string | null)[]): { changes: number | bigint }; get(): unknown };
}

/** `json` keeps the text of a document; `jsonb` would write its numbers anew. */
const tables = (json: 'json' | 'text') => `
  create table if not exists call_research_calls (call_id text primary key, document ${json} not null, changed_at text not null, walk text);
  create table if not exists call_research_sync (one integer primary key check (one = 1), cursor text, walk text);
  insert into call_research_sync (one) values (1) on conflict do nothing;`;

const anotherSync = () =>
  new ProtocolError('another sync of this copy is at work: let it finish, and run one sync of a copy at a time');

/** A copy in PostgreSQL, in the tables `call_research_calls` and `call_research_sync` of the connection's first schema. It makes them where they are absent. */
export function postgresStore(pool: PostgresPool): Store {
  const move = async (connection: PostgresConnection, at: Position, { cursor, walk }: Position) => {
    const { rowCount } = await connection.query(
      'update call_research_sync set cursor = $1, walk = $2 where cursor is not distinct from $3 and walk is not distinct from $4',
      [cursor, walk, at.cursor, at.walk],
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
      // A closed connection takes its transaction with it.
      connection.release(isBroken);
    }
  };
  return {
    load: async () => {
      await pool.query(tables('json'));
      return (await pool.query('select cursor, walk from call_research_sync')).rows[0] as Position;
    },
    begin: (at, walk) => transact((connection) => move(connection, at, { cursor: null, walk })),
    apply: (at, changes, cursor) =>
      transact(async (connection) => {
        await move(connection, at, { cursor, walk: at.walk });
        const changed = changes.filter(isChanged);
        await connection.query(
          `insert into call_research_calls (call_id, document, changed_at, walk)
           select call_id, document::json, changed_at, $4 from unnest($1::text[], $2::text[], $3::text[]) as page (call_id, document, changed_at)
           on conflict (call_id) do update set document = excluded.document, changed_at = excluded.changed_at, walk = excluded.walk`,
          [
            changed.map((each) => each.call_id),
            changed.map((each) => each.document),
            changed.map((each) => each.changed_at),
            at.walk,
          ],
        );
        const deleted = changes.filter((change) => !isChanged(change)).map((each) => each.call_id);
        await connection.query('delete from call_research_calls where call_id = any($1)', [deleted]);
      }),
    end: (at) =>
      transact(async (connection) => {
        await move(connection, at, { cursor: at.cursor, walk: null });
        await connection.query('delete from call_research_calls where walk is distinct from $1', [at.walk]);
      }),
  };
}

/** A copy in SQLite, in the tables `call_research_calls` and `call_research_sync`. It makes them where they are absent. */
export function sqliteStore(database: SqliteDatabase): Store {
  const move = (at: Position, { cursor, walk }: Position) => {
    const update = database.prepare('update call_research_sync set cursor = ?, walk = ? where cursor is ? and walk is ?');
    if (Number(update.run(cursor, walk, at.cursor, at.walk).changes) !== 1) throw anotherSync();
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
      const { cursor, walk } = database.prepare('select cursor, walk from call_research_sync').get() as Position;
      return { cursor, walk };
    },
    begin: (at, walk) => transact(() => move(at, { cursor: null, walk })),
    apply: (at, changes, cursor) =>
      transact(() => {
        move(at, { cursor, walk: at.walk });
        const replace = database.prepare(
          'insert or replace into call_research_calls (call_id, document, changed_at, walk) values (?, ?, ?, ?)',
        );
        const remove = database.prepare('delete from call_research_calls where call_id = ?');
        for (const change of changes) {
          if (isChanged(change)) replace.run(change.call_id, change.document, change.changed_at, at.walk);
          else remove.run(change.call_id);
        }
      }),
    end: (at) =>
      transact(() => {
        move(at, { cursor: at.cursor, walk: null });
        database.prepare('delete from call_research_calls where walk is not ?').run(at.walk);
      }),
  };
}

const isChanged = (change: StoredChange) => change.type === 'call.changed';
