import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { bindHttp } from '../process/bind.ts';

export interface ListenOptions {
  /** `host:port`; port 0 takes a free one. */
  address: string;
  /** The drain period: how long a stopping server still serves new requests, so that load balancers and clients can move to other servers (milliseconds). */
  drainMs: number;
  /** How long requests in flight may take after the drain period (milliseconds): their longest deadline, and a moment for the response. */
  finishMs: number;
}

/** Options of an HTTP server: Node's limits of the time that a client may take, in milliseconds. */
export const HTTP_TIMEOUTS = { keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 30_000 };

/** How long the body of a request may take to arrive. */
export const BODY_MS = 5_000;

/** Further connections are refused, because each may hold a body in memory. */
const MAX_CONNECTIONS = 4_096;

const SILENT_MS = 500;

/** Connections that have been idle since the stop began are kept for up to three drain periods after the drain period, and at most this long. */
const IDLE_MS = 15_000;
const LOOK_EVERY_MS = 100;

/**
 * A connection on which nothing moves for this long, plus the longest time of an answer, is closed: a client that doesn't read its
 * answer would keep its slot for ever. Node needs less time to notice a request that doesn't arrive, and that request gets an answer.
 */
const STALLED_MS = 75_000;

/**
 * Has an HTTP server listen, and stop without breaking a request. From the first moment of a stop each answer ends its connection
 * (`Connection: close`), so that clients turn to other servers; new requests are still served. A client whose connection was idle all that
 * time knows nothing yet, and may use it again in the moment in which it is closed. So such connections get more time. Then the server accepts no
 * connection, closes idle ones, and finishes the requests under way.
 * @returns longestStopMs how long a stop may take
 */
export async function listen(
  server: Server,
  { address, drainMs, finishMs }: ListenOptions,
): Promise<{ address: string; stop: () => Promise<void>; longestStopMs: number }> {
  const idleMs = Math.min(3 * drainMs, IDLE_MS);
  server.timeout = STALLED_MS + finishMs;
  server.maxConnections = MAX_CONNECTIONS;
  const bound = await bindHttp(server, address);
  // Its latest answer stands for a connection. A set of all open answers would be rehashed every few requests, and V8 keeps what was in the
  // former tables of an old set until the next major collection: a third of a crowd's CPU time went into copying answers that were sent.
  const latest = new Map<Socket, ServerResponse | undefined>();
  const keep = (socket: Socket) => {
    latest.set(socket, undefined);
    socket.once('close', () => latest.delete(socket));
  };
  server.on('connection', keep);
  // The requests of such a connection name the socket inside of TLS.
  server.on('secureConnection', keep);
  let stopping = false;
  const announce = (response: ServerResponse) => {
    if (!response.headersSent) response.shouldKeepAlive = false;
  };
  server.prependListener('request', (request, response) => {
    if (stopping) announce(response);
    if (latest.has(request.socket)) latest.set(request.socket, response);
    endHalfSent(request, response);
  });
  // Node alone would answer 417, and keep the connection of a request whose body doesn't arrive.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));

  return {
    address: bound,
    longestStopMs: drainMs + idleMs + finishMs + 1_000,
    stop: async () => {
      stopping = true;
      for (const response of latest.values()) if (response) announce(response);
      await sleep(drainMs);
      for (let waited = 0; waited < idleMs && latest.size > 0; waited += LOOK_EVERY_MS) await sleep(LOOK_EVERY_MS);
      // This turn still reads requests that have arrived: a connection that is closed with an unread request in it is reset.
      await turn();
      const timers = [
        // Browsers open connections in advance, and Node would wait for the first request of each.
        setTimeout(() => latest.forEach((_, socket) => void (socket.bytesRead === 0 && socket.destroy())), SILENT_MS),
        setTimeout(() => server.closeAllConnections(), finishMs),
      ];
      await new Promise<void>((resolve) => server.close(() => resolve()));
      timers.forEach(clearTimeout);
    },
  };
}

/**
 * Closes the connection of a request that was answered before its body was there, unless the rest arrives within 5 s after the request
 * began. Most refusals, such as 401, don't read the body, and Node alone would wait for the rest for 30 s: a client could keep
 * connections at no cost.
 */
function endHalfSent(request: IncomingMessage, response: ServerResponse): void {
  const began = performance.now();
  response.once('finish', () => {
    if (request.complete) return;
    const timer = setTimeout(() => request.socket.destroySoon(), Math.max(0, began + BODY_MS - performance.now()));
    request.once('close', () => clearTimeout(timer));
  });
}
