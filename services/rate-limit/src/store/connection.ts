import { readSecret } from '@crs/kit/process/secrets';
import { createClient, createCluster, defineScript, type CommandParser } from 'redis';
import type { Count, Hit } from '../domain/counter.ts';

/**
 * The clock of Redis decides when a window closes. A key still exists in the millisecond of its expiry, so the script sets the expiry
 * one millisecond before the window closes. A counter without an expiry, such as one restored by hand, gets one with the next hit.
 */
const count = defineScript({
  NUMBER_OF_KEYS: 1,
  SCRIPT: `
    local count = redis.call('INCRBY', KEYS[1], ARGV[1])
    local allowed = count <= tonumber(ARGV[3])
    if not allowed then
      count = redis.call('DECRBY', KEYS[1], ARGV[1])
    end
    local left = redis.call('PTTL', KEYS[1])
    if left < 0 then
      left = tonumber(ARGV[2]) - 1
      redis.call('PEXPIRE', KEYS[1], left)
    end
    return { count, left + 1, allowed and 1 or 0 }`,
  parseCommand(parser: CommandParser, { key, amount, windowMs, limit }: Hit) {
    parser.pushKey(key);
    parser.push(String(amount), String(windowMs), String(limit));
  },
  transformReply: ([total, resetInMs, allowed]: [number, number, number]): Count => ({
    count: total,
    allowed: allowed === 1,
    resetInMs,
  }),
});

/** A connection to Redis that pipelines commands. It is used until it fails, and then replaced. */
export interface Connection {
  /** Whether one node may be down while the others respond. */
  isCluster: boolean;
  connect(): Promise<unknown>;
  count(hit: Hit): Promise<Count>;
  /** Resolves once the server, or each primary of a cluster, has responded. */
  ping(): Promise<unknown>;
  destroy(): void;
}

const CONNECT_MS = 500;

// A client can't be destroyed while it connects, so its timeout is shorter than ours.
export const socket = { reconnectStrategy: false, connectTimeout: CONNECT_MS } as const;
export const options = {
  disableOfflineQueue: true,
  maintNotifications: 'disabled',
  // The client's timeout covers only commands that aren't written yet, and costs a timer for each command.
  commandOptions: { timeout: undefined },
} as const;

/**
 * @param url URL of one server, or URLs of nodes of a Redis Cluster, separated by commas
 * @param passwordFile is read for each new connection, and replaces the password in the URL
 */
export function createConnection(url: string, passwordFile?: string): Connection {
  const urls = url.split(',').map((each) => new URL(each));
  const credentialsProvider = {
    type: 'async-credentials-provider' as const,
    credentials: () => credentialsOf(url, passwordFile),
  };
  // The client would prefer the credentials in the URL.
  for (const each of urls) each.username = each.password = '';
  return urls.length === 1 ? toServer(urls[0]!, credentialsProvider) : toCluster(urls, credentialsProvider);
}

/** Returns the credentials of the first of these URLs. */
export async function credentialsOf(url: string, passwordFile?: string): Promise<{ username?: string; password: string }> {
  const { username, password } = new URL(url.split(',')[0]!);
  return {
    ...(username && { username: decodeURIComponent(username) }),
    password: passwordFile === undefined ? decodeURIComponent(password) : await readSecret(passwordFile),
  };
}

type Credentials = NonNullable<Parameters<typeof createClient>[0]>['credentialsProvider'] & {};

function toServer(url: URL, credentialsProvider: Credentials): Connection {
  const client = createClient({ url: url.href, credentialsProvider, scripts: { count }, socket, ...options });
  // Failed commands report the error. Without a listener, this event would end the process.
  client.on('error', () => {});
  return {
    isCluster: false,
    connect: () => client.connect(),
    count: (hit) => client.count(hit),
    ping: () => client.ping(),
    destroy: () => client.destroy(),
  };
}

function toCluster(urls: URL[], credentialsProvider: Credentials): Connection {
  const cluster = createCluster({
    rootNodes: urls.map(({ href: url }) => ({ url })),
    defaults: {
      ...options,
      socket: { ...socket, ...(urls[0]!.protocol === 'rediss:' && { tls: true }) },
      // As a default, it also applies to the nodes that the cluster reports.
      credentialsProvider,
    },
    scripts: { count },
  });
  cluster.on('error', () => {});
  return {
    isCluster: true,
    connect: () => cluster.connect(),
    count: (hit) => cluster.count(hit),
    ping: () => Promise.all(cluster.masters.map(async (master) => (await cluster.nodeClient(master)).ping())),
    destroy: () => cluster.destroy(),
  };
}
