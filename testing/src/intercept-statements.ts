import pg from 'pg';

/** A statement as passed to the driver. */
export interface SentStatement {
  name?: string;
  text: string;
  values?: unknown[];
}

/**
 * Passes every statement of this process to `intercept` and sends the returned statement instead. COPY and plain commands aren't intercepted.
 * @returns a function that ends the interception
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
