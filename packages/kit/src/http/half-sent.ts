import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { ARRIVAL_MS } from './body.ts';
import { hangUp } from './hang-up.ts';

/**
 * Closes the connection of a request that was answered before its body was there, unless the rest arrives within 5 s after the request
 * began. Most refusals, such as 401, don't read the body, and Node alone would wait for the rest for a minute: a client could keep
 * connections at no cost.
 */
export function endHalfSent(server: Server): void {
  const watch = (request: IncomingMessage, response: ServerResponse) => {
    if (!hasBody(request)) return;
    const began = performance.now();
    response.once('finish', () => {
      if (request.complete) return;
      const left = Math.max(0, began + ARRIVAL_MS - performance.now());
      const timer = setTimeout(() => hangUp(request.socket), left);
      request.once('close', () => clearTimeout(timer));
    });
  };
  server.on('request', watch);
  server.on('checkExpectation', watch);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}
