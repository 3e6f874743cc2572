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
export const HTTP_TIMEOUTS = { keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 35_000 };

/** How long the body of a request may take to arrive. */
export const BODY_MS = 5_000;

const bodyTimes = new WeakMap<IncomingMessage, number>();

/** Gives the body of a request, whose sender has been authenticated, another time to arrive than {@link BODY_MS}. */
export function allowBodyTime(request: IncomingMessage, withinMs: number): void {
  bodyTimes.set(request, withinMs);
}

/** Further connections are refused, because each may hold a body in memory. */
const MAX_CONNECTIONS = 4_096;

const SILENT_MS = 500;

/** Connections that have been idle since the stop began are kept for up to three drain periods after the drain period, and at most this long. */
const IDLE_MS = 15_000;
const POLL_EVERY_MS = 100;

/**
 * A connection without traffic for this long, plus the longest time until a response, is closed: a client that doesn't read its response would otherwise
 * keep its slot forever. Longer than Node's timeouts for requests that don't arrive completely, because those requests get a response.
 */
const STALLED_MS = 75_000;

/**
 * Makes an HTTP server listen, and returns a `stop` that doesn't interrupt requests. During the drain period of a stop, new requests are still served, but
 * each response closes its connection (`Connection: close`), so that clients move to other servers. A client whose connection has been idle doesn't know
 * about the stop and might send a request just when the connection is closed, so idle connections are kept for some time longer. Then the server refuses
 * new connections, closes idle ones, and finishes the requests in flight.
 * @returns longestStopMs: the longest time that a stop takes
 */
export async function listen(
  server: Server,
  { address, drainMs, finishMs }: ListenOptions,
): Promise<{ address: string; stop: () => Promise<void>; longestStopMs: number }> {
  const idleMs = Math.min(3 * drainMs, IDLE_MS);
  server.timeout = STALLED_MS + finishMs;
  server.maxConnections = MAX_CONNECTIONS;
  const bound = await bindHttp(server, address);
  // Only the latest response of each connection. A set of all open responses would be rehashed every few requests, and V8 keeps the entries of the
  // discarded tables until the next major collection: under many concurrent requests, a third of the CPU time went into copying sent responses.
  const latest = new Map<Socket, ServerResponse | undefined>();
  const keep = (socket: Socket) => {
    latest.set(socket, undefined);
    socket.once('close', () => latest.delete(socket));
  };
  server.on('connection', keep);
  // Over TLS, `request.socket` is the TLS socket, which this event reports.
  server.on('secureConnection', keep);
  let stopping = false;
  const closeAfter = (response: ServerResponse) => {
    if (!response.headersSent) response.shouldKeepAlive = false;
  };
  server.prependListener('request', (request, response) => {
    if (stopping) closeAfter(response);
    if (latest.has(request.socket)) latest.set(request.socket, response);
    endHalfSent(request, response);
  });
  // By default, Node would respond 417, and keep the connection although the request's body doesn't arrive.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));

  return {
    address: bound,
    longestStopMs: drainMs + idleMs + finishMs + 1_000,
    stop: async () => {
      stopping = true;
      for (const response of latest.values()) if (response) closeAfter(response);
      await sleep(drainMs);
      for (let waited = 0; waited < idleMs && latest.size > 0; waited += POLL_EVERY_MS) await sleep(POLL_EVERY_MS);
      // Reads requests that have already arrived: closing a connection with an unread request would reset it.
      await turn();
      const timers = [
        // Browsers open connections in advance, and Node would wait for their first request.
        setTimeout(() => latest.forEach((_, socket) => void (socket.bytesRead === 0 && socket.destroy())), SILENT_MS),
        setTimeout(() => server.closeAllConnections(), finishMs),
      ];
      await new Promise<void>((resolve) => server.close(() => resolve()));
      timers.forEach(clearTimeout);
    },
  };
}

/**
 * Closes the connection of a request whose response was sent before its body arrived, unless the rest arrives within 5 s, or the time that
 * {@link allowBodyTime} set, after the request began. Most
 * refusals, such as 401, don't read the body, and by default Node would wait for it for 30 s, so that a client could keep connections open at no cost.
 */
function endHalfSent(request: IncomingMessage, response: ServerResponse): void {
  const began = performance.now();
  response.once('finish', () => {
    if (request.complete) return;
    const end = began + (bodyTimes.get(request) ?? BODY_MS);
    const timer = setTimeout(() => request.socket.destroySoon(), Math.max(0, end - performance.now()));
    request.once('close', () => clearTimeout(timer));
  });
}
