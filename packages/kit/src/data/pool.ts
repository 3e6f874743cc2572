import { Pool, types, type ClientBase, type CustomTypesConfig, type PoolClient } from 'pg';
import parseDate from 'postgres-date';
import { deadlineExceeded, REASONS, ServiceError, unavailable } from '../errors.ts';
import type { Logger } from '../process/log.ts';
import { meter, observeGauge } from '../process/telemetry.ts';
import { connectionTo } from './connection.ts';
import { errorType, translate } from './database-errors.ts';
import { socketOf } from './pipeline.ts';
import type { Work } from './scope.ts';

export interface PoolOptions {
  /** Name of the service, for metrics. */
  name: string;
  url: string;
  /** A file that each new connection reads its password from, such as a token of a cloud that ends after minutes. */
  passwordFile?: string | undefined;
  maxConnections: number;
  log: Logger;
  /** Sends statements without waiting for earlier answers. Such a pool refuses COPY and cursors. */
  pipeline: boolean;
}

/** A page of a user's calls holds up to 300 timestamps, and this parser takes a quarter of the time of the driver's own. */
const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.TIMESTAMPTZ ? parseDate : types.getTypeParser(oid, format)),
};

const CONNECT_MS = 5_000;
const FIND_CITUS = {
  text: `select current_setting('citus.propagate_set_commands', true) is not null as "isCitus"`,
  query_timeout: CONNECT_MS,
};

/** A server that has finished some work within this time is alive, even where other work gets no answer. */
const ALIVE_MS = 1_000;

/** Durations of statements and of attempts to connect. */
export const operationDuration = () =>
  meter('database').createHistogram('db.client.operation.duration', { unit: 's', description: 'Time of a statement.' });

/** Connections that are destroyed after any error, cancellation or deadline, which rolls their transaction back. */
export class ConnectionPool {
  /** Whether the server is a coordinator of Citus. Every new connection finds out. */
  isCitus = false;
  readonly #pool: Pool;
  readonly #duration = operationDuration();
  readonly #closeMetrics: () => void;
  /** When work was last finished, in epoch milliseconds. */
  #finishedAt = 0;

  constructor({ name, url, passwordFile, maxConnections, log, pipeline }: PoolOptions) {
    this.#pool = new Pool({
      ...connectionTo(url, passwordFile),
      max: maxConnections,
      application_name: `crs-${name}`,
      pipeline,
      types: TYPES,
      idleTimeoutMillis: 60_000,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      // The pool waits for its promise, which its types don't say.
      onConnect: this.#prepare.bind(this) as (client: ClientBase) => void,
    });
    // An idle connection that breaks is replaced on next use.
    this.#pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection broke'));
    const description = 'Connections by state.';
    this.#closeMetrics = observeGauge('database', 'db.client.connection.count', { description }, (result) => {
      const pool = { 'db.client.connection.pool.name': name };
      result.observe(this.#pool.idleCount, { ...pool, 'db.client.connection.state': 'idle' });
      result.observe(this.#pool.totalCount - this.#pool.idleCount, { ...pool, 'db.client.connection.state': 'used' });
      result.observe(this.#pool.waitingCount, { ...pool, 'db.client.connection.state': 'waiting' });
    });
  }

  /** Runs a task on a connection. When its caller gives up, the task neither holds a connection nor waits for one. */
  async use<T>({ deadline, signal }: Work, task: (client: PoolClient) => Promise<T>): Promise<T> {
    if (signal?.aborted) throw deadlineExceeded();
    const stopped = Promise.withResolvers<never>();
    const stop = () => stopped.reject(signal?.reason instanceof ServiceError ? signal.reason : this.#late());
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
        // Without this, the released client would wait for the answers that are still on their way.
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
    // Each connection asks again, because a database may be spread over nodes while services run.
    const { rows } = await client.query<{ isCitus: boolean }>(FIND_CITUS);
    this.isCitus = rows[0]!.isCitus;
  }

  /** The error of work without an answer: the fault of the server only while it answers nobody. Of Citus, one node may be silent. */
  #late(): ServiceError {
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
