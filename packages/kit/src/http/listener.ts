import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { splitHostPort } from '../process/config.ts';

export interface ListenOptions {
  /** `host:port`; port 0 takes a free one. */
  address: string;
  /** How long, when it stops, it still takes requests, so that balancers and clients can turn to others (milliseconds). */
  lameDuckMs: number;
  /** How long, after that, requests under way may take: their longest deadline, and a moment for the answer. */
  drainMs: number;
}

const SILENT_MS = 500;

/**
 * A connection with a request on which nothing has moved for so long, besides the longest that an answer may take, is closed: a client
 * that doesn't read would keep its slot for ever. Longer than Node takes to find out that a request doesn't arrive, which is answered.
 */
const STALLED_MS = 75_000;

/**
 * Has an HTTP server listen, and stop without breaking a request. From the first moment of a stop each answer ends its connection
 * (`Connection: close`), which is how a client learns of it; new requests are served meanwhile. When the lame-duck time is over, nothing
 * more is accepted, idle connections are closed, and what is under way is finished.
 */
export async function listen(
  server: Server,
  { address, lameDuckMs, drainMs }: ListenOptions,
): Promise<{ address: string; stop: () => Promise<void> }> {
  server.timeout = STALLED_MS + drainMs;
  const { host, port } = splitHostPort(address);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const bound = server.address();

  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const open = new Set<ServerResponse>();
  let stopping = false;
  const announce = (response: ServerResponse) => {
    if (!response.headersSent) response.shouldKeepAlive = false;
  };
  const watch = (_request: IncomingMessage, response: ServerResponse) => {
    if (stopping) announce(response);
    open.add(response);
    response.once('close', () => open.delete(response));
  };
  server.prependListener('request', watch);
  server.prependListener('checkExpectation', watch);

  return {
    address: `${host}:${typeof bound === 'object' && bound ? bound.port : port}`,
    stop: async () => {
      stopping = true;
      for (const response of open) announce(response);
      await sleep(lameDuckMs);
      // After this turn has read what has arrived: a connection closed with a request in it is reset.
      await turn();
      const timers = [
        // Node waits for the first request of those that were only opened, as browsers do in advance.
        setTimeout(() => sockets.forEach((socket) => void (socket.bytesRead === 0 && socket.destroy())), SILENT_MS),
        setTimeout(() => server.closeAllConnections(), drainMs),
      ];
      await new Promise<void>((resolve) => server.close(() => resolve()));
      timers.forEach(clearTimeout);
    },
  };
}
