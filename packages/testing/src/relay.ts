import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a service that can be closed, as if the service had died, and blocked, as if it hung. */
export interface Relay {
  address: string;
  close(): Promise<void>;
  /** At the address where it was. */
  open(): Promise<void>;
  block(): void;
}

export async function startRelay(target: string): Promise<Relay> {
  const [host = '', port = ''] = target.split(':');
  const ends = new Set<Socket>();
  const join = (from: Socket, to: Socket) => {
    ends.add(from);
    from.pipe(to);
    from.on('error', () => from.destroy());
    from.once('close', () => {
      ends.delete(from);
      to.destroy();
    });
  };
  const server = createServer((near) => {
    const far = createConnection(Number(port), host);
    join(near, far);
    join(far, near);
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
      for (const end of ends) end.unpipe().pause();
    },
  };
}
