import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createProxy, type Server as Proxy } from 'node:http';
import { createServer, type Server } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { selfSigned } from '../../../testing/src/certificate.ts';
import { INHERITED } from '../../../testing/src/inherited.ts';
import { guardedFetch, type GuardedFetchOptions } from '../src/http/guarded-fetch.ts';

const NAME = 'client.example';
const certificate = selfSigned(NAME);

let server: Server;
let proxy: Proxy;
let options: GuardedFetchOptions;
let served = 0;
/** The CONNECT requests that the proxy received. It tunnels all of them to the one server. */
let proxyRequests: string[];
const sockets = new Set<Socket>();
const portOf = (listener: Server | Proxy) => (listener.address() as AddressInfo).port;

beforeAll(async () => {
  server = createServer(certificate, (_, response) => response.end('{}'));
  server.on('connection', () => served++);
  proxy = createProxy((_, response) => response.writeHead(405).end());
  proxy.on('connect', (request, socket: Socket) => {
    proxyRequests.push(`${request.url} ${request.headers['proxy-authorization']}`);
    const there = connect(portOf(server), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      there.pipe(socket).pipe(there);
    });
    for (const each of [socket, there]) sockets.add(each.on('error', () => {}));
  });
  for (const listener of [server, proxy]) await once(listener.listen(0, '127.0.0.1'), 'listening');
  options = { ca: certificate.cert, proxyUrl: `http://user:word@127.0.0.1:${portOf(proxy)}`, resolve: async () => [] };
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const listener of [server, proxy]) listener.close();
});
beforeEach(() => {
  [proxyRequests, served] = [[], 0];
});

it('a name that DNS does not resolve is fetched through the proxy, and the certificate is checked', async () => {
  expect((await guardedFetch(`https://${NAME}/client`, options)).status).toBe(200);
  expect(proxyRequests).toEqual([`${NAME}:443 Basic ${btoa('user:word')}`]);
  await expect(guardedFetch('https://other.example/', options)).rejects.toMatchObject({
    reason: expect.stringContaining('the exchange failed'),
  });
  expect(served).toBe(2);
});

it('no request is sent for an internal address, whether the URL has it or its name resolves to it', async () => {
  for (const [host, addresses] of [
    ['10.0.0.1', []],
    ['[::1]', []],
    [NAME, ['10.0.0.1']],
    [NAME, ['93.184.215.14', '169.254.169.254']],
  ] as const) {
    const failed = guardedFetch(`https://${host}/`, { ...options, resolve: async () => [...addresses] });
    await expect(failed).rejects.toMatchObject({ reason: expect.stringContaining('no public address') });
  }
  await expect(guardedFetch(`https://${NAME}:8443/`, options)).rejects.toMatchObject({ reason: 'port 8443 is not 443' });
  expect([proxyRequests, served]).toEqual([[], 0]);
});

it('an allowed host is reached directly, not through the proxy', async () => {
  const host = `127.0.0.1:${portOf(server)}`;
  await expect(guardedFetch(`https://${host}/`, { ...options, allowHosts: [host] })).rejects.toThrow();
  expect([proxyRequests, served]).toEqual([[], 1]);
});

it('proxy settings in the environment are ignored', async () => {
  const script = `
    import net from 'node:net';
    import { guardedFetch } from ${JSON.stringify(new URL('../src/http/guarded-fetch.ts', import.meta.url).href)};
    net.Socket.prototype.connect = function (...given) {
      const options = given.flat()[0];
      console.log(options.host, options.port);
      queueMicrotask(() => this.destroy(new Error('no network')));
      return this;
    };
    await guardedFetch('https://client.example/', { resolve: async () => ['93.184.215.14'] }).catch((error) => console.log(error.reason));
  `;
  const proxy = 'http://127.0.0.1:9';
  const env = { ...INHERITED, NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: proxy, https_proxy: proxy, ALL_PROXY: proxy };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env });
  expect(stdout).toBe(`${NAME} 443\nthe exchange failed\n`);
});
