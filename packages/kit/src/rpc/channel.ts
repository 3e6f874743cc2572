import { Client, connectivityState, type ChannelCredentials } from '@grpc/grpc-js';

/** On a slow network the handshakes of TCP, TLS and HTTP/2 take a second or two. */
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

/**
 * The connections to a target. grpc-js sets no limit to connecting. The address of a machine that is gone accepts packets and never
 * answers; grpc-js would wait for it as long as the kernel does, two minutes, and wouldn't resolve the name again meanwhile. So a client
 * that has been connecting for five seconds is closed, its waiting calls fail, and a new one takes its place.
 */
export class Channel {
  readonly target: string;
  readonly #create: () => Client;
  #client: Client;
  /** When the client was first seen without a connection, by `performance.now()`. */
  #waitingSince: number | undefined;

  /** @param retry whether calls are repeated on UNAVAILABLE */
  constructor(target: string, credentials: ChannelCredentials, retry: boolean) {
    this.target = target;
    const options = channelOptions(retry);
    this.#create = () => new Client(target, credentials, options);
    this.#client = this.#create();
    channels.add(this);
  }

  isReadyBy(deadline: number): Promise<boolean> {
    return new Promise((resolve) => this.client().waitForReady(deadline, (error) => resolve(error === undefined)));
  }

  /** The client for the next call. Ask for it before each call. */
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
 * gRPC's own retries, which go to the next replica. A replica of another version answers UNIMPLEMENTED to an RPC that it lacks, so it has not
 * begun the call. A replica that is being replaced, or a target that lost its database, answers UNAVAILABLE; such calls are repeated only if the
 * target's calls may be.
 */
function serviceConfig(retry: boolean) {
  return {
    loadBalancingConfig: [{ round_robin: {} }],
    methodConfig: [
      {
        name: [{}],
        retryPolicy: {
          maxAttempts: 3,
          // The second wait is longer than it takes until a lost connection is tried again.
          initialBackoff: '0.1s',
          maxBackoff: '0.2s',
          backoffMultiplier: 2,
          retryableStatusCodes: retry ? ['UNAVAILABLE', 'UNIMPLEMENTED'] : ['UNIMPLEMENTED'],
        },
      },
    ],
    // More than the calls that are under way when a replica ends.
    retryThrottling: { maxTokens: 1_000, tokenRatio: 1 },
  };
}

function channelOptions(retry: boolean) {
  return {
    'grpc.service_config': JSON.stringify(serviceConfig(retry)),
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 200,
    'grpc.dns_min_time_between_resolutions_ms': 1_000,
    // The settings above are not to be replaced by a TXT record of DNS.
    'grpc.service_config_disable_resolution': 1,
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 2_000,
    // Answers of 200 KiB are usual. Within the 64 KiB of HTTP/2 they would come in many small pieces, each with a wait.
    'grpc-node.flow_control_window': 1024 * 1024,
    'grpc.max_receive_message_length': 64 * 1024 * 1024,
    'grpc.max_send_message_length': -1,
    // A connection that is shared with other channels would stay open after this one is closed.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_http_proxy': 0,
  };
}
