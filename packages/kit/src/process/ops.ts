import { createServer } from 'node:http';
import { splitHostPort } from './config.ts';
import type { Telemetry } from './telemetry-sdk.ts';

/**
 * The operators' HTTP listener of a process: `/livez` (the process turns its event loop), `/readyz` (it should get traffic) and
 * `/metrics`. Never on a public address.
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
  const { host, port } = splitHostPort(address);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const bound = server.address();
  const boundPort = typeof bound === 'object' && bound ? bound.port : port;
  return {
    address: `${host}:${boundPort}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
