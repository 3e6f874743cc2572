import { Client, connectivityState, type ChannelCredentials, type ClientOptions } from '@grpc/grpc-js';

/** A slow way needs a second or two for the handshakes of TCP, TLS and HTTP/2. */
const CONNECT_MS = 5_000;

/**
 * The connections to a target. grpc-js sets no limit to connecting: an address that swallows what is sent to it, as that of a machine
 * that is gone, would be waited for as long as the kernel does, two minutes, and the name not resolved anew meanwhile. So what has been
 * connecting for five seconds is given up, with the calls that wait for it, and begun afresh.
 */
export class Channel {
  readonly #create: () => Client;
  #client: Client;
  /** Since when, at the latest, there has been no connection. */
  #waitingSince: number | undefined;

  constructor(target: string, credentials: ChannelCredentials, options: ClientOptions) {
    // Connections that are shared with other channels would outlive this one.
    this.#create = () => new Client(target, credentials, { ...options, 'grpc.use_local_subchannel_pool': 1 });
    this.#client = this.#create();
  }

  /** For the next call; to be asked for before each. */
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
    this.#client.close();
  }
}
