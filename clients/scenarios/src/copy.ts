import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { openSession } from '@crs/testing/sql';

interface Row {
  id: string;
  document: string;
}
interface Position {
  cursor: string | null;
  resync: string | null;
}

/** A client's copy, read directly from its database. */
export interface Copy {
  /** `sqlite:PATH`, or a `postgresql://` URL. */
  address: string;
  /** The JSON text of each record of a type, by id; calls by default. */
  documents(type?: keyof typeof TABLES): Promise<Map<string, string>>;
  position(): Promise<Position>;
}

const TABLES = { call: 'calls', project: 'projects', entity: 'entities' };
const POSITION = 'select cursor, resync from call_research_sync';

export function copyIn(address: string): Copy {
  async function select<T>(statement: string): Promise<T[]> {
    if (address.startsWith('sqlite:')) {
      const path = address.slice('sqlite:'.length);
      if (!existsSync(path)) throw new Error(`no copy at ${path}`);
      const database = new DatabaseSync(path, { readOnly: true });
      const rows = database.prepare(statement).all() as T[];
      database.close();
      return rows;
    }
    const session = await openSession(address);
    try {
      return await session.query<T>(statement);
    } finally {
      await session.close();
    }
  }
  return {
    address,
    documents: async (type = 'call') => {
      const rows = await select<Row>(
        `select ${type}_id as id, cast(document as text) as document from call_research_${TABLES[type]}`,
      );
      return new Map(rows.map(({ id, document }) => [id, document]));
    },
    position: async () => ({ ...(await select<Position>(POSITION))[0]! }),
  };
}
