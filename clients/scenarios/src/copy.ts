import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { openSession } from '@crs/testing/sql';

interface Row {
  call_id: string;
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
  /** The JSON text of each call, by id. */
  documents(): Promise<Map<string, string>>;
  position(): Promise<Position>;
}

const DOCUMENTS = 'select call_id, cast(document as text) as document from call_research_calls';
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
    documents: async () => new Map((await select<Row>(DOCUMENTS)).map(({ call_id: id, document }) => [id, document])),
    position: async () => ({ ...(await select<Position>(POSITION))[0]! }),
  };
}
