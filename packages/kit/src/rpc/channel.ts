import { Client, connectivityState, type ChannelCredentials } from '@grpc/grpc-js';

/** Long enough for the handshakes of TCP, TLS and HTTP/2 on a slow network, which take a second or two. */
const CONNECT_MS = 5_000;

/** The open channels of this process. */
const channels = new Set<Channel>();

/**
 * Waits until every channel of this process has a connection, so that no first request has to. On a new pod that can take seconds: its network policies
 * may come into force after its start, and a lost DNS query is repeated after 5 s.
 * @returns the targets without a connection after that time. Their channels keep trying
 */
export async function connectAll(timeoutMs: number): Promise<string[]> {
  const deadline = Date.now() + timeoutMs;
  const failed = await Promise.all(Array.from(channels, async (each) => ((await each.isReadyBy(deadline)) ? [] : [each.target])));
  return failed.flat();
}

interface ChannelSettings {
  /** Whether calls are repeated on UNAVAILABLE. */
  retry: boolean;
  /** The name that the server's certificate must have, instead of the target's host. */
  serverName?: string | undefined;
}

/**
 * The connections to a target. grpc-js has no connect timeout: for a machine that has vanished it would wait until the kernel gives up,
 * after two minutes, without resolving the name again. So a client that has been connecting for `CONNECT_MS` is closed and replaced. Its
 * pending calls fail.
 */
export class Channel {
  readonly target: string;
  readonly #create: () => Client;
  #client: Client;
  /** When the client was first seen without a connection, by `performance.now()`. */
  #waitingSince: number | undefined;

  constructor(target: string, credentials: ChannelCredentials, settings: ChannelSettings) {
    this.target = target;
    const options = channelOptions(settings);
    this.#create = () => new Client(target, credentials, options);
    this.#client = this.#create();
    channels.add(this);
  }

  isReadyBy(deadline: number): Promise<boolean> {
    return new Promise((resolve) => this.client().waitForReady(deadline, (error) => resolve(error === undefined)));
  }

  /** Returns the client for one call. Call it before each call, because it replaces a client that doesn't connect. */
  client(): Client {
    const state = this.#client.getChannel().getConnectivityState(false);
    const now = performance.now();
    if (state === connectivityState.READY) this.#waitingSince = undefined;
    else if (state !== connectivityState.CONNECTING) this.#waitingSince = now;
    else {
      this.#waitingSince ??= now;
      if (now - this.#waitingSince > CONNECT_MS) {
        this.#client.close();
        this.#client = this.#create();
        this.#waitingSince = now;
      }
    }
    return this.#client;
  }

  close(): void {
    channels.delete(this);
    this.#client.close();
  }
}

/**
 * gRPC's own retries, which go to the next replica. UNIMPLEMENTED is always retried: it comes from a replica of another version, which hasn't begun
 * the call. UNAVAILABLE comes from a replica that is shutting down, or has no database; it is retried only if the target's calls may be repeated.
 */
function serviceConfig(retry: boolean) {
  return {
    loadBalancingConfig: [{ round_robin: {} }],
    methodConfig: [
      {
        name: [{}],
        retryPolicy: {
          maxAttempts: 3,
          // The second wait is longer than the reconnect backoff.
          initialBackoff: '0.1s',
          maxBackoff: '0.2s',
          backoffMultiplier: 2,
          retryableStatusCodes: retry ? ['UNAVAILABLE', 'UNIMPLEMENTED'] : ['UNIMPLEMENTED'],
        },
      },
    ],
    // More tokens than calls that may be in flight when a replica ends, so that all of them may be retried.
    retryThrottling: { maxTokens: 1_000, tokenRatio: 1 },
  };
}

function channelOptions({ retry, serverName }: ChannelSettings) {
  return {
    ...(serverName !== undefined && { 'grpc.ssl_target_name_override': serverName }),
    'grpc.service_config': JSON.stringify(serviceConfig(retry)),
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 200,
    'grpc.dns_min_time_between_resolutions_ms': 1_000,
    // Otherwise a TXT record of DNS could replace the service config.
    'grpc.service_config_disable_resolution': 1,
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 2_000,
    // Responses of 200 KiB are common. HTTP/2's default window of 64 KiB would add round trips.
    'grpc-node.flow_control_window': 1024 * 1024,
    'grpc.max_receive_message_length': 64 * 1024 * 1024,
    'grpc.max_send_message_length': -1,
    // A subchannel shared with other channels would stay open after this one is closed.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_http_proxy': 0,
  };
}
