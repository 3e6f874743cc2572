import pg from 'pg';

/** A session of its own with a database, to look at rows past every wall, to hold locks and to break things. */
export interface Session {
  query<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export async function openSession(url: string): Promise<Session> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    query: async <Row>(text: string, values?: unknown[]) => (await client.query(text, values)).rows as Row[],
    close: () => client.end(),
  };
}

/** A statement as it is handed to the driver. */
export interface SentStatement {
  name?: string;
  text: string;
  values?: unknown[];
}

/**
 * Shows every statement that this process sends, COPY and plain commands excepted, to `intercept`, and sends what that makes of it.
 * @returns what ends it
 */
export function interceptStatements(intercept: (statement: SentStatement) => SentStatement): () => void {
  const prototype = pg.Client.prototype as unknown as {
    query: (this: pg.Client, config: unknown, ...rest: unknown[]) => unknown;
  };
  const { query } = prototype;
  prototype.query = function (config, ...rest) {
    const isStatement = typeof config === 'object' && config !== null && 'text' in config && !('submit' in config);
    return query.call(this, isStatement ? intercept(config as SentStatement) : config, ...rest);
  };
  return () => {
    prototype.query = query;
  };
}
