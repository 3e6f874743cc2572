import { Client, connectivityState, type ChannelCredentials, type ClientOptions } from '@grpc/grpc-js';
import { connections } from '../process/connections.ts';

/** On a slow network the handshakes of TCP, TLS and HTTP/2 take a second or two. */
const CONNECT_MS = 5_000;

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

  constructor(target: string, credentials: ChannelCredentials, options: ClientOptions) {
    this.target = target;
    // A connection that is shared with other channels would stay open after this one is closed.
    this.#create = () =>
      new Client(target, credentials, { ...options, 'grpc.use_local_subchannel_pool': 1, 'grpc.enable_http_proxy': 0 });
    this.#client = this.#create();
    connections.add(this);
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
    connections.delete(this);
    this.#client.close();
  }
}
