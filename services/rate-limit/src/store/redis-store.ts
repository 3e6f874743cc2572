import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '@crs/kit/errors';
import type { Logger } from '@crs/kit/process/log';
import { TimedOut, withTimeout } from '@crs/kit/process/timeout';
import { meter, observeGauge } from '@crs/kit/process/telemetry';
import type { Count, CounterStore, Hit } from '../domain/counter.ts';
import { createConnection, type Connection } from './connection.ts';
import { findPrimary, type RedisAddress } from './sentinel.ts';

/** Timeout of a connection attempt, and of a heartbeat. */
const LIVENESS_MS = 1_000;
const HEARTBEAT_EVERY_MS = 250;
const RECONNECT_EVERY_MS = 250;

interface RedisOptions extends RedisAddress {
  /** Precedes each key. */
  prefix: string;
  /** How long a hit waits for its response. */
  timeoutMs: number;
  log: Logger;
}

/**
 * Counters in Redis. One connection, or one per node of a cluster, pipelines all hits.
 *
 * Our own loop maintains the connection, because the client has no timeout for a command that it has written: it would keep a stalled
 * connection until the kernel gives up. The loop replaces a connection when a heartbeat times out.
 */
export class RedisStore implements CounterStore {
  readonly #options: RedisOptions;
  readonly #closing = new AbortController();
  readonly #duration = meter('rate-limit').createHistogram('db.client.operation.duration', {
    unit: 's',
    description: 'Time until a statement was answered.',
  });
  readonly #closeMetrics: () => void;
  #connection: Connection | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: RedisOptions) {
    this.#options = options;
    const description = '1 while there is a connection to Redis, else 0.';
    this.#closeMetrics = observeGauge('rate-limit', 'crs.redis.connected', { description }, (result) =>
      result.observe(this.#connection ? 1 : 0),
    );
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** Starts the connection loop, which runs until `close`. Resolves after the first attempt, whether or not it connected. */
  async open(): Promise<void> {
    const attempted = Promise.withResolvers<void>();
    this.#loop = this.#keepConnected(attempted.resolve);
    await attempted.promise;
  }

  async add(hit: Hit): Promise<Count> {
    const { prefix, timeoutMs } = this.#options;
    const started = performance.now();
    let failure: string | undefined;
    try {
      const connection = this.#connection;
      // Queueing the hit for later would be useless: the gateway has counted it locally by then.
      if (!connection) throw new Error('no connection to Redis');
      const counted = connection.count({ ...hit, key: prefix + hit.key });
      return await withTimeout(counted, timeoutMs).catch((error: unknown) => {
        // After a failover the old primary still answers. A new connection finds the new primary.
        if (error instanceof Error && error.message.startsWith('READONLY')) connection.destroy();
        throw error;
      });
    } catch (error) {
      failure = error instanceof TimedOut ? 'timeout' : this.#connection ? 'error' : 'disconnected';
      throw unavailable('The counters are not available.', error);
    } finally {
      this.#duration.record((performance.now() - started) / 1_000, {
        'db.system.name': 'redis',
        'db.operation.name': 'count',
        ...(failure !== undefined && { 'error.type': failure }),
      });
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
    this.#closeMetrics();
  }

  async #keepConnected(attempted: () => void): Promise<void> {
    const { signal } = this.#closing;
    const { log } = this.#options;
    let reported = false;
    while (!signal.aborted) {
      let connection: Connection | undefined;
      try {
        connection = await this.#connectionToPrimary();
        await withTimeout(connection.connect(), LIVENESS_MS);
        await withTimeout(connection.ping(), LIVENESS_MS);
        this.#connection?.destroy();
        this.#connection = connection;
        log.info('connected to Redis');
        reported = false;
        attempted();
        for (;;) {
          await sleep(HEARTBEAT_EVERY_MS, undefined, { signal });
          await withTimeout(connection.ping(), LIVENESS_MS);
        }
      } catch (error) {
        if (!signal.aborted && !reported) log.warn({ err: error }, 'Redis is not available');
        reported = true;
      }
      // While one node of a cluster is down, the others stay in use until there is a new connection.
      if (connection && (connection !== this.#connection || !connection.isCluster || signal.aborted)) this.#drop(connection);
      attempted();
      await sleep(RECONNECT_EVERY_MS, undefined, { signal }).catch(() => {});
    }
    if (this.#connection) this.#drop(this.#connection);
  }

  async #connectionToPrimary(): Promise<Connection> {
    const { url, sentinel, passwordFile } = this.#options;
    const address = sentinel === undefined ? url : await findPrimary({ url, sentinel, passwordFile });
    return createConnection(address, passwordFile);
  }

  #drop(connection: Connection): void {
    if (connection === this.#connection) this.#connection = undefined;
    connection.destroy();
  }
}
