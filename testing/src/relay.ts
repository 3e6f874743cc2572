import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP proxy in front of a service that can simulate a service that is down, hangs or responds late. */
export interface Relay {
  address: string;
  /** Ends all connections and refuses new ones, like a service that is down. */
  close(): Promise<void>;
  /** Listens again at the same address. */
  open(): Promise<void>;
  /** Forwards nothing on open connections, like a service that hangs. */
  block(): void;
  /** Delays the service's bytes. 0 delivers delayed bytes at once. */
  delay(ms: number): void;
  /** Forwards new connections to another `host:port`, like a service that has moved. */
  retarget(target: string): void;
}

/** @param target `host:port` */
export async function startRelay(target: string): Promise<Relay> {
  const ends = new Set<Socket>();
  const writers = new Set<DelayedWriter>();
  let delayMs = 0;
  const keep = (end: Socket, other: Socket) => {
    ends.add(end);
    end.on('error', () => end.destroy());
    end.once('close', () => {
      ends.delete(end);
      other.destroy();
    });
  };
  const server = createServer((near) => {
    const [host = '', port = ''] = target.split(':');
    const far = createConnection(Number(port), host);
    keep(near, far);
    keep(far, near);
    near.pipe(far);
    const writer = new DelayedWriter(near);
    writers.add(writer);
    near.once('close', () => writers.delete(writer));
    far.on('data', (chunk: Buffer) => writer.write(chunk, delayMs));
    far.once('end', () => writer.write(undefined, delayMs));
  });
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  await listen(0);
  const { port: own } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${own}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const end of ends) end.destroy();
      }),
    open: () => listen(own),
    block: () => {
      for (const end of ends) end.unpipe().removeAllListeners('data').pause();
    },
    delay: (ms) => {
      delayMs = ms;
      if (ms === 0) for (const writer of writers) writer.flush();
    },
    retarget: (address) => {
      target = address;
    },
  };
}

/** Delays writes to a socket, and keeps their order. */
class DelayedWriter {
  readonly #socket: Socket;
  #held: (Buffer | undefined)[] = [];
  #timers = new Set<NodeJS.Timeout>();

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.once('close', () => this.#timers.forEach(clearTimeout));
  }

  /** @param chunk undefined for the end of the stream */
  write(chunk: Buffer | undefined, delayMs: number): void {
    this.#held.push(chunk);
    if (delayMs === 0 && this.#timers.size === 0) this.flush();
    else {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#send();
      }, delayMs);
      this.#timers.add(timer);
    }
  }

  flush(): void {
    this.#timers.forEach(clearTimeout);
    this.#timers.clear();
    while (this.#held.length > 0) this.#send();
  }

  #send(): void {
    const chunk = this.#held.shift();
    if (chunk === undefined) this.#socket.end();
    else if (this.#socket.writable) this.#socket.write(chunk);
  }
}
