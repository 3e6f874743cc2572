// Puts a fake HTTP server in place of auth, behind a gateway, for the tests of how the gateway forwards sign-in.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { World } from '@crs/testing/world';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { ToolGatewayConfig } from '../src/config.ts';
import { ask as askAt, startGateway, type Ask } from './_requests.ts';

export const HOST = 'tools.example';
export const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** The fake auth server and the gateway that forwards to it, shared by the tests of one file. */
export const auth = {
  /** The requests that the fake auth has received. */
  passed: [] as { method?: string; url?: string; headers: IncomingHttpHeaders; body: string; port: number | undefined }[],
  answer: (_request: IncomingMessage, _response: ServerResponse): void => {},
  gateway: { address: '', stop: async () => {} },
};
export const log: string[] = [];

const upstream = createServer((request, response) => {
  void text(request).then((body) => {
    const { method, url, headers } = request;
    auth.passed.push({ method, url, headers, body, port: request.socket.remotePort });
    auth.answer(request, response);
  });
});
let authHttpAddress: string;

/** Starts a gateway without backend services: sign-in needs only auth's HTTP server, and without the rate-limit service a gateway counts locally. */
export async function start(settings: Partial<ToolGatewayConfig> = {}) {
  const nowhere = new Proxy({}, { get: () => '127.0.0.1:1' }) as World['stack']['addresses'];
  return startGateway({ stack: { addresses: nowhere }, log }, { authHttpAddress, loopback: false, ...settings });
}

/** Starts the fake auth and the gateway before the tests of a file, and stops them afterwards. */
export function useAuth(): void {
  beforeAll(async () => {
    await once(upstream.listen(0, '127.0.0.1'), 'listening');
    authHttpAddress = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    auth.gateway = await start();
  });
  afterAll(async () => {
    await auth.gateway.stop();
    upstream.closeAllConnections();
    upstream.close();
  });
  beforeEach(() => {
    auth.passed = [];
    auth.answer = (_, response) => response.setHeader('Content-Type', 'application/json').end('{"from":"auth"}');
  });
}

export const ask = (request: Ask, at = auth.gateway.address) =>
  askAt(at, { method: 'GET', ...request, headers: { host: HOST, ...request.headers } });
export const get = (path: string, headers: Record<string, string> = {}) => ask({ path, headers });
export const post = (path: string, body = 'a=b', headers: Record<string, string> = {}) =>
  ask({ method: 'POST', path, body, headers: { ...FORM, ...headers } });
