import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '@crs/kit/errors';
import type { Logger } from '@crs/kit/process/log';
import type { Count, CounterStore, Hit } from '@crs/kit/limits/counter-store';
import { meter } from '@crs/kit/process/telemetry';
import { Late, Patience, within } from '@crs/kit/process/patience';
import { createConnection, type Connection } from './connection.ts';

const HANDSHAKE_MS = 1_000;
const BEAT_EVERY_MS = 250;
const BEAT_MS = 1_000;
const RECONNECT_MS = 250;
/** How long after its asker gave up a hit may be read and still be counted: more than clocks drift and event loops lag. */
const SLACK_MS = 200;

/**
 * Counters in Redis, over one connection (one a node, in a cluster) on which all charges are pipelined.
 *
 * The connection is kept by a loop of our own: the client sets no deadline on a command that it has written, so it would hold on to a
 * silent connection for as long as the kernel does. Here a heartbeat that stays unanswered replaces it.
 */
export class RedisStore implements CounterStore {
  readonly #url: string;
  readonly #timeoutMs: number;
  readonly #patience: Patience;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  readonly #duration = meter('rate-limit').createHistogram('db.client.operation.duration', {
    unit: 's',
    description: 'Time until a statement was answered.',
  });
  readonly #connected = meter('rate-limit').createObservableGauge('crs.redis.connected', {
    description: '1 while there is a connection to Redis, else 0.',
  });
  readonly #observe = (result: { observe(value: number): void }) => result.observe(this.#connection ? 1 : 0);
  #connection: Connection | undefined;
  /** What Redis' clock said when ours was at zero, in milliseconds; too late by a round trip rather than too early. */
  #epoch = 0;
  #loop: Promise<void> | undefined;

  /**
   * @param options.url of one server, or of several of a Redis Cluster, separated by commas
   * @param options.timeoutMs how long a charge waits for its answer
   */
  constructor({ url, timeoutMs, log }: { url: string; timeoutMs: number; log: Logger }) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
    this.#patience = new Patience(timeoutMs);
    this.#log = log;
  }

  /** Begins to connect, and keeps connected until closed. @returns once the first attempt has ended, well or not */
  async open(): Promise<void> {
    const attempted = Promise.withResolvers<void>();
    this.#connected.addCallback(this.#observe);
    this.#loop = this.#keepConnected(attempted.resolve);
    await attempted.promise;
  }

  async add(hit: Hit): Promise<Count> {
    const started = performance.now();
    let failure: string | undefined;
    try {
      const connection = this.#connection;
      // Nothing is queued for later: the caller counts elsewhere by then.
      if (!connection) throw new Error('no connection to Redis');
      const notAfter = Math.ceil(this.#epoch + started + this.#timeoutMs + SLACK_MS);
      const count = await this.#patience.within(connection.count(hit, notAfter)).catch((error: unknown) => {
        // After a failover the old primary still answers; a new connection finds the new one.
        if (error instanceof Error && error.message.startsWith('READONLY')) connection.destroy();
        throw error;
      });
      if (!count) throw new Late(this.#timeoutMs);
      return count;
    } catch (error) {
      failure = error instanceof Late ? 'timeout' : this.#connection ? 'error' : 'disconnected';
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
    this.#connected.removeCallback(this.#observe);
  }

  async #keepConnected(attempted: () => void): Promise<void> {
    const { signal } = this.#closing;
    let reported = false;
    while (!signal.aborted) {
      const connection = createConnection(this.#url);
      try {
        await within(HANDSHAKE_MS, connection.connect());
        await this.#beat(connection);
        this.#connection?.destroy();
        this.#connection = connection;
        this.#log.info('connected to Redis');
        reported = false;
        attempted();
        for (;;) {
          await sleep(BEAT_EVERY_MS, undefined, { signal });
          await this.#beat(connection);
        }
      } catch (error) {
        if (!signal.aborted && !reported) this.#log.warn({ err: error }, 'Redis is not available');
        reported = true;
      }
      // Where a part of it fails, the rest is of use until there is another.
      if (connection !== this.#connection || !connection.parts || signal.aborted) this.#leave(connection);
      attempted();
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => {});
    }
    if (this.#connection) this.#leave(this.#connection);
  }

  async #beat(connection: Connection): Promise<void> {
    const sent = performance.now();
    this.#epoch = (await within(BEAT_MS, connection.time())) - sent;
  }

  #leave(connection: Connection): void {
    if (connection === this.#connection) this.#connection = undefined;
    connection.destroy();
  }
}
