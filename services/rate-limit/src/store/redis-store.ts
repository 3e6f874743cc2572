import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, defineScript, type CommandParser } from 'redis';
import { unavailable } from '@crs/kit/errors';
import type { Logger } from '@crs/kit/log';
import type { Count, CounterStore, Hit } from '@crs/kit/rate-limit/store';

/**
 * Redis' own clock decides when a window closes. A key is still there in the millisecond of its expiry, so it expires one before the
 * window closes. A counter without an expiry, as a restore by hand can leave it, gets one with the next hit.
 */
const count = defineScript({
  NUMBER_OF_KEYS: 1,
  SCRIPT: `
    local count = redis.call('INCRBY', KEYS[1], ARGV[1])
    local left = redis.call('PTTL', KEYS[1])
    if left < 0 then
      left = tonumber(ARGV[2]) - 1
      redis.call('PEXPIRE', KEYS[1], left)
    end
    return { count, left + 1 }`,
  parseCommand(parser: CommandParser, key: string, amount: number, windowMs: number) {
    parser.pushKey(key);
    parser.push(String(amount), String(windowMs));
  },
  transformReply: ([total, resetInMs]: [number, number]): Count => ({ count: total, resetInMs }),
});

const CONNECT_MS = 500;
const HANDSHAKE_MS = 1_000;
const PING_EVERY_MS = 250;
const PING_MS = 1_000;
const RECONNECT_MS = 250;

type Connection = ReturnType<typeof createConnection>;

/**
 * Counters in Redis, over one connection on which all charges are pipelined.
 *
 * The connection is kept by a loop of our own: the client sets no deadline on a command that it has written, so it would hold on to a
 * silent connection for as long as the kernel does. Here a ping that stays unanswered replaces it.
 */
export class RedisStore implements CounterStore {
  readonly #url: string;
  readonly #timeoutMs: number;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  #connection: Connection | undefined;
  #loop: Promise<void> | undefined;

  /** @param options.timeoutMs how long a charge waits for its answer */
  constructor({ url, timeoutMs, log }: { url: string; timeoutMs: number; log: Logger }) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
    this.#log = log;
  }

  /** Begins to connect, and keeps connected until closed. @returns once the first attempt has ended, well or not */
  async open(): Promise<void> {
    const attempted = Promise.withResolvers<void>();
    this.#loop = this.#keepConnected(attempted.resolve);
    await attempted.promise;
  }

  async add({ key, amount, windowMs }: Hit): Promise<Count> {
    const connection = this.#connection;
    // Nothing is queued for later: the caller counts elsewhere by then.
    if (!connection) throw unavailable('The counters are not available.');
    try {
      return await within(this.#timeoutMs, connection.count(key, amount, windowMs));
    } catch (error) {
      // After a failover the old primary still answers pings; a new connection finds the new one.
      if (error instanceof Error && error.message.startsWith('READONLY')) connection.destroy();
      throw unavailable('The counters are not available.', error);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
  }

  async #keepConnected(attempted: () => void): Promise<void> {
    const { signal } = this.#closing;
    let reported = false;
    while (!signal.aborted) {
      const connection = createConnection(this.#url);
      // Failures reach us through the commands.
      connection.on('error', () => {});
      try {
        await within(HANDSHAKE_MS, connection.connect());
        this.#connection = connection;
        this.#log.info('connected to Redis');
        reported = false;
        attempted();
        for (;;) {
          await sleep(PING_EVERY_MS, undefined, { signal });
          await within(PING_MS, connection.ping());
        }
      } catch (error) {
        if (!signal.aborted && !reported) this.#log.warn({ err: error }, 'Redis is not available');
        reported = true;
      }
      this.#connection = undefined;
      connection.destroy();
      attempted();
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => {});
    }
  }
}

function createConnection(url: string) {
  return createClient({
    url,
    scripts: { count },
    // A connection under construction can't be destroyed, so it must give up before we do.
    socket: { reconnectStrategy: false, connectTimeout: CONNECT_MS },
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    // It would cover unwritten commands only, at the price of a timer for each.
    commandOptions: { timeout: undefined },
  });
}

/** What `work` resolves to, unless that takes longer than `ms`. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  // One turn later, so that an answer which has arrived is read first: a busy event loop is no slow Redis.
  const timer = setTimeout(() => setImmediate(() => late.reject(new Error(`no answer within ${ms} ms`))), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
