import { createServer } from 'node:http';
import { bindHttp } from './bind.ts';
import type { Telemetry } from './telemetry-sdk.ts';

/**
 * The operators' HTTP listener of a process: `/livez` (the process turns its event loop), `/readyz` (the process should get traffic) and
 * `/metrics`. It must never be on a public address.
 */
export async function startOps(
  address: string,
  telemetry: Telemetry,
  ready: () => boolean,
): Promise<{ address: string; stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const say = (status: number, text: string) => response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`);
    if (request.method !== 'GET') return say(405, 'method not allowed');
    switch (request.url) {
      case '/livez':
        return say(200, 'alive');
      case '/readyz':
        return ready() ? say(200, 'ready') : say(503, 'not ready');
      case '/metrics':
        return telemetry.prometheus.getMetricsRequestHandler(request, response);
      default:
        return say(404, 'not found');
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
