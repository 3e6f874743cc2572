import { readSecret } from '@crs/kit/process/read-secret';
import { createClient, createCluster, defineScript, type CommandParser } from 'redis';
import type { Count, Hit } from '../domain/counter.ts';

/**
 * The clock of Redis decides when a window closes. A key still exists in the millisecond in which it expires, so it expires one
 * millisecond before its window closes. A counter without an expiry, which a restore by hand can leave, gets one with the next hit.
 *
 * A hit that Redis reads too late, after a pause, isn't counted: its sender has counted it elsewhere by then.
 */
const count = defineScript({
  NUMBER_OF_KEYS: 1,
  SCRIPT: `
    local now = redis.call('TIME')
    if now[1] * 1000 + now[2] / 1000 > tonumber(ARGV[3]) then
      return { -1, 0 }
    end
    local count = redis.call('INCRBY', KEYS[1], ARGV[1])
    local missing = tonumber(ARGV[4]) - (count - ARGV[1])
    if missing > 0 then
      count = redis.call('INCRBY', KEYS[1], missing)
    end
    local left = redis.call('PTTL', KEYS[1])
    if left < 0 then
      left = tonumber(ARGV[2]) - 1
      redis.call('PEXPIRE', KEYS[1], left)
    end
    return { count, left + 1 }`,
  parseCommand(parser: CommandParser, { key, amount, windowMs, atLeast = 0 }: Hit, notAfter: number) {
    parser.pushKey(key);
    parser.push(String(amount), String(windowMs), String(notAfter), String(atLeast));
  },
  transformReply: ([total, resetInMs]: [number, number]): Count | undefined =>
    total < 0 ? undefined : { count: total, resetInMs },
});

/** A connection to Redis that pipelines commands. It is used until it fails, and then replaced. */
export interface Connection {
  /** Whether one node of several may fail. The other nodes stay in use until the connection is replaced. */
  parts: boolean;
  connect(): Promise<unknown>;
  /** @param notAfter milliseconds of Redis' clock @returns undefined if Redis read the hit later, and didn't count it */
  count(hit: Hit, notAfter: number): Promise<Count | undefined>;
  /** @returns milliseconds of Redis' clock; of several nodes, the latest time */
  time(): Promise<number>;
  destroy(): void;
}

const CONNECT_MS = 500;

// A client can't be destroyed while it connects, so it must give up before we do.
const socket = { reconnectStrategy: false, connectTimeout: CONNECT_MS } as const;
const options = {
  disableOfflineQueue: true,
  maintNotifications: 'disabled',
  // This timeout covers only commands that aren't written yet, and costs a timer for each command.
  commandOptions: { timeout: undefined },
} as const;

/**
 * @param url URL of one server, or URLs of nodes of a Redis Cluster, separated by commas
 * @param passwordFile is read at each new connection, in place of the password in the URL
 */
export function createConnection(url: string, passwordFile?: string): Connection {
  const urls = url.split(',').map((each) => new URL(each));
  const { username, password } = urls[0]!;
  const credentialsProvider = {
    type: 'async-credentials-provider' as const,
    credentials: async () => ({
      ...(username && { username: decodeURIComponent(username) }),
      password: passwordFile === undefined ? decodeURIComponent(password) : await readSecret(passwordFile),
    }),
  };
  // Credentials in the URL would count before these.
  for (const each of urls) each.username = each.password = '';
  return urls.length === 1 ? toServer(urls[0]!, credentialsProvider) : toCluster(urls, credentialsProvider);
}

type Credentials = NonNullable<Parameters<typeof createClient>[0]>['credentialsProvider'] & {};

function toServer(url: URL, credentialsProvider: Credentials): Connection {
  const client = createClient({ url: url.href, credentialsProvider, scripts: { count }, socket, ...options });
  // The commands report failures.
  client.on('error', () => {});
  return {
    parts: false,
    connect: () => client.connect(),
    count: (hit, notAfter) => client.count(hit, notAfter),
    time: async () => millisecondsOf(await client.sendCommand(['TIME'])),
    destroy: () => client.destroy(),
  };
}

function toCluster(urls: URL[], credentialsProvider: Credentials): Connection {
  const cluster = createCluster({
    rootNodes: urls.map(({ href: url }) => ({ url })),
    defaults: {
      ...options,
      socket: { ...socket, ...(urls[0]!.protocol === 'rediss:' && { tls: true }) },
      // The nodes that the first ones name get them, too.
      credentialsProvider,
    },
    scripts: { count },
  });
  cluster.on('error', () => {});
  return {
    parts: true,
    connect: () => cluster.connect(),
    count: (hit, notAfter) => cluster.count(hit, notAfter),
    time: async () => {
      const times = cluster.masters.map(async (master) => (await cluster.nodeClient(master)).sendCommand(['TIME']));
      return Math.max(...(await Promise.all(times)).map(millisecondsOf));
    },
    destroy: () => cluster.destroy(),
  };
}

function millisecondsOf(reply: unknown): number {
  const [seconds, microseconds] = reply as [string, string];
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}
