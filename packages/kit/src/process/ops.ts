import { createServer } from 'node:http';
import { bindHttp } from './bind.ts';
import type { Telemetry } from './telemetry-sdk.ts';

/**
 * Starts the operators' HTTP listener: `/livez` (the event loop runs), `/readyz` (the process should get traffic) and `/metrics`. It must never be
 * on a public address.
 */
export async function startOps(
  address: string,
  telemetry: Telemetry,
  ready: () => boolean,
): Promise<{ address: string; stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const send = (status: number, text: string) => response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`);
    if (request.method !== 'GET') return send(405, 'method not allowed');
    switch (request.url) {
      case '/livez':
        return send(200, 'alive');
      case '/readyz':
        return ready() ? send(200, 'ready') : send(503, 'not ready');
      case '/metrics':
        return telemetry.prometheus.getMetricsRequestHandler(request, response);
      default:
        return send(404, 'not found');
    }
  });
  return {
    address: await bindHttp(server, address),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
