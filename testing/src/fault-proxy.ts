import { createServer, request as send, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the proxy does to one request. Absent: it forwards the request and the response. */
export type Fault =
  /** The proxy responds; the service never gets the request. */
  | { status: number; headers?: Record<string, string>; body?: string }
  /** The service gets the request. The proxy cuts the connection before the response, or in the middle of its body. */
  | { cut: 'before' | 'inside' }
  /** The service gets a part of the request's body, from none (0) to all (1). After this many milliseconds, the proxy cuts both connections. */
  | { abandon: number; afterMs: number }
  /** The proxy holds the request for this many milliseconds, then cuts the connection. */
  | { hang: number }
  /** The proxy changes the response body. */
  | { rewrite: (body: string) => string };

export interface Exchange {
  /** Milliseconds since the proxy's start. */
  at: number;
  method: string;
  /** Path and query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** The status that the client got, if any. */
  status?: number;
}

export interface Proxy {
  /** The base URL of the API through the proxy, with `/v1`. */
  baseUrl: string;
  /** The requests since the last `reset`. */
  exchanges: Exchange[];
  /**
   * Forgets the requests so far. From now on, `decide` returns the fault for each request. It may change something in the service first, while the
   * client waits. @param index of the request, from 0
   */
  reset(decide?: (exchange: Exchange, index: number) => Fault | undefined | Promise<Fault | undefined>): void;
  close(): Promise<void>;
}

/** Starts a proxy that injects faults. @param target origin of the service */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  let exchanges: Exchange[] = [];
  let decide: Parameters<Proxy['reset']>[0];
  const started = performance.now();

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    const at = performance.now() - started;
    const body = await buffer(request);
    const exchange: Exchange = { at, method, path, headers, body: body.toString() };
    const index = exchanges.push(exchange) - 1;
    const fault = await decide?.(exchange, index);
    if (fault && 'hang' in fault) return void setTimeout(() => response.destroy(), fault.hang);
    if (fault && 'status' in fault) {
      exchange.status = fault.status;
      return void response.writeHead(fault.status, fault.headers).end(fault.body ?? '');
    }
    if (fault && 'abandon' in fault) {
      await abandon(method, path, headers, body.subarray(0, body.length * fault.abandon), fault.afterMs);
      return void response.destroy();
    }
    const upstream = await forward(method, path, headers, body);
    if (!upstream || (fault && 'cut' in fault && fault.cut === 'before')) return void response.destroy();
    const { 'transfer-encoding': _, 'content-length': __, connection: ___, ...passed } = upstream.headers;
    const text = fault && 'rewrite' in fault ? Buffer.from(fault.rewrite(upstream.body.toString())) : upstream.body;
    const hasBody = method !== 'HEAD' && upstream.status !== 304;
    exchange.status = upstream.status;
    response.writeHead(upstream.status, { ...passed, ...(hasBody && { 'content-length': text.length }) });
    if (!fault || !('cut' in fault)) return void response.end(hasBody ? text : undefined);
    response.write(text.subarray(0, text.length / 2), () => response.destroy());
  }

  /** Sends the service a request with this part of its body, and cuts the connection. */
  async function abandon(method: string, path: string, headers: IncomingHttpHeaders, part: Buffer, afterMs: number) {
    const request = send({ hostname, port, method, path, headers });
    request.on('error', () => {}).on('response', (response) => response.on('error', () => {}).resume());
    request.flushHeaders();
    request.write(part);
    await sleep(afterMs);
    request.destroy();
  }

  /** Forwards a request. @returns undefined if the service can't be reached */
  function forward(method: string, path: string, headers: IncomingHttpHeaders, body: Buffer) {
    return new Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer } | undefined>((resolve) => {
      // The tests compare and cut the response's text, so it must not be compressed.
      const plain = { ...headers, 'accept-encoding': 'identity', connection: 'close' };
      const request = send({ hostname, port, method, path, headers: plain }, (response) => {
        buffer(response).then(
          (bytes) => resolve({ status: response.statusCode!, headers: response.headers, body: bytes }),
          () => resolve(undefined),
        );
      });
      request.on('error', () => resolve(undefined)).end(body);
    });
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    get exchanges() {
      return exchanges;
    },
    reset: (next) => {
      exchanges = [];
      decide = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
