import type { Socket } from 'node:net';
import { Pool, types, type ClientBase, type CustomTypesConfig, type PoolClient, type QueryConfig, type QueryResult } from 'pg';
import parseDate from 'postgres-date';
import { deadlineExceeded, REASONS, ServiceError, unavailable } from '../errors.ts';
import type { Logger } from '../process/log.ts';
import { meter, observeGauge } from '../process/telemetry.ts';
import { clientOf, connectionTo } from './connection.ts';
import { errorType, translate } from './database-errors.ts';
import type { Work } from './scope.ts';

export interface PoolOptions {
  /** Name of the service, for metrics. */
  name: string;
  url: string;
  /** See {@link connectionTo}. */
  passwordFile?: string | undefined;
  maxConnections: number;
  log: Logger;
  /** Sends statements without waiting for earlier results. Such a pool refuses COPY and cursors. */
  pipeline: boolean;
}

/** A page of a user's calls has up to 300 timestamps. This parser is four times as fast as the driver's own. */
const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.TIMESTAMPTZ ? parseDate : types.getTypeParser(oid, format)),
};

const CONNECT_TIMEOUT_MS = 5_000;
const FIND_CITUS = {
  text: `select current_setting('citus.propagate_set_commands', true) is not null as "isCitus"`,
  query_timeout: CONNECT_TIMEOUT_MS,
};

/** A server that has finished some work within this time is healthy, even if other work stalls. */
const ALIVE_MS = 1_000;

export const operationDuration = () =>
  meter('database').createHistogram('db.client.operation.duration', { unit: 's', description: 'Time of a statement.' });

/** A pool that destroys a connection after any error, cancellation or timeout, which rolls back its transaction. */
export class ConnectionPool {
  /** Whether the server is a coordinator of Citus. */
  isCitus = false;
  readonly #pool: Pool;
  readonly #duration = operationDuration();
  readonly #closeMetrics: () => void;
  /** When a task last succeeded (epoch milliseconds). */
  #finishedAt = 0;

  constructor({ name, url, passwordFile, maxConnections, log, pipeline }: PoolOptions) {
    this.#pool = new Pool({
      ...connectionTo(url, passwordFile),
      Client: clientOf(url, passwordFile),
      max: maxConnections,
      application_name: `crs-${name}`,
      pipeline,
      types: TYPES,
      idleTimeoutMillis: 60_000,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      // The pool awaits its promise, contrary to its types.
      onConnect: this.#prepare.bind(this) as (client: ClientBase) => void,
    });
    // The pool replaces it when needed.
    this.#pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection broke'));
    const description = 'Connections by state.';
    this.#closeMetrics = observeGauge('database', 'db.client.connection.count', { description }, (result) => {
      const pool = { 'db.client.connection.pool.name': name };
      result.observe(this.#pool.idleCount, { ...pool, 'db.client.connection.state': 'idle' });
      result.observe(this.#pool.totalCount - this.#pool.idleCount, { ...pool, 'db.client.connection.state': 'used' });
      result.observe(this.#pool.waitingCount, { ...pool, 'db.client.connection.state': 'waiting' });
    });
  }

  /** Runs a task on a connection. After the deadline or an abort, the task neither holds a connection nor waits for one. */
  async use<T>({ deadline, signal }: Work, task: (client: PoolClient) => Promise<T>): Promise<T> {
    if (signal?.aborted) throw deadlineExceeded();
    const stopped = Promise.withResolvers<never>();
    const stop = () => stopped.reject(signal?.reason instanceof ServiceError ? signal.reason : this.#timeoutError());
    const timer = setTimeout(stop, deadline - Date.now());
    signal?.addEventListener('abort', stop, { once: true });
    try {
      const client = await this.#acquire(stopped.promise);
      let broken = true;
      try {
        const result = await Promise.race([task(client), stopped.promise]);
        broken = false;
        this.#finishedAt = Date.now();
        return result;
      } catch (error) {
        throw translate(error);
      } finally {
        client.release(broken);
        // Otherwise the client would wait for pending results before it closes.
        if (broken) socketOf(client).destroy();
      }
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }

  async close(): Promise<void> {
    this.#closeMetrics();
    await this.#pool.end();
  }

  async #prepare(client: ClientBase): Promise<void> {
    // A connection that breaks in use fails its statements. Without this listener, its `error` event would end the process.
    client.on('error', () => {});
    // Queried for each connection, because a database may become distributed while services run.
    const { rows } = await client.query<{ isCitus: boolean }>(FIND_CITUS);
    this.isCitus = rows[0]!.isCitus;
  }

  /** Blames the server only if no other work has finished lately: a single node of Citus may have stalled. */
  #timeoutError(): ServiceError {
    return deadlineExceeded(undefined, Date.now() - this.#finishedAt < ALIVE_MS ? REASONS.slowWork : undefined);
  }

  async #acquire(stopped: Promise<never>): Promise<PoolClient> {
    const pending = this.#pool.connect();
    const started = performance.now();
    try {
      return await Promise.race([pending, stopped]);
    } catch (error) {
      pending.then(
        (unused) => unused.release(),
        () => {},
      );
      if (error instanceof ServiceError) throw error;
      const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': 'connect', 'error.type': errorType(error) };
      this.#duration.record((performance.now() - started) / 1000, attributes);
      throw unavailable('The database is not available.', error);
    }
  }
}

/** Returns the connection's socket, which the driver's types don't declare. */
function socketOf(client: PoolClient): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/**
 * Sends a statement by the driver's callback API. Its promise API leaks until a full collection: it assigns a closure to a property of the statement, and V8
 * allocates such closures in the old generation, where each keeps the statement's rows alive.
 */
export function send(client: PoolClient, statement: string | QueryConfig): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    const onResult = (error: Error | null, result: QueryResult) => (error ? reject(error) : resolve(result));
    client.query(statement as QueryConfig, onResult);
  });
}

/** Sends the statements of `work` in one packet. Otherwise the driver would make a system call, and wake the server, for each. */
export function corked<T>(client: PoolClient, work: () => T): T {
  const socket = socketOf(client);
  socket.cork();
  try {
    return work();
  } finally {
    socket.uncork();
  }
}

/** Like `Promise.all`, but throws the first error in order, not in time: later ones only say that the transaction is aborted. */
export async function allOrFirstError<T extends readonly unknown[]>(promises: {
  readonly [K in keyof T]: Promise<T[K]>;
}): Promise<T> {
  const results = await Promise.allSettled(promises as Promise<unknown>[]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}
