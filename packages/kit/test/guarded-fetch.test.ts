import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { Socket, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { selfSigned } from '../../../testing/src/certificate.ts';
import { guardedFetch, GuardedFetchError, type GuardedFetchOptions } from '../src/http/guarded-fetch.ts';
import { REFUSED_V4, REFUSED_V6, flat, spellings, spellingsOfV6 } from './_addresses.ts';

const PUBLIC = '93.184.215.14';
const NAME = 'client.example';
const certificate = selfSigned(NAME);

/**
 * Every address and port leads to this one server, so a request that is not refused arrives here. `reached` has the address and port
 * that the request was meant for.
 */
let server: Server;
let connections = 0;
let reached: string[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const seen: { url: string | undefined; name: string | undefined; headers: IncomingHttpHeaders }[] = [];

beforeAll(async () => {
  server = createServer(certificate, (request, response) => {
    const name = 'servername' in request.socket ? String(request.socket.servername) : undefined;
    seen.push({ url: request.url, name, headers: request.headers });
    answer(request, response);
  });
  server.on('connection', () => connections++);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  // oxlint-disable-next-line typescript/unbound-method -- called with the socket as `this` below
  const connect = Socket.prototype.connect as (...args: unknown[]) => Socket;
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...given: unknown[]): Socket {
    const [options, ...rest] = (Array.isArray(given[0]) ? given[0] : given) as [Dial, ...unknown[]];
    // Connections of other tests' environments, which run in this process, have no TLS.
    if (options.rejectUnauthorized === undefined) return connect.call(this, ...given);
    const there = (host: string) => reached.push(`${host} ${options.port}`);
    if (options.lookup) options.lookup(options.host, { all: true }, (_, all) => all.forEach(({ address }) => there(address)));
    else there(options.host);
    return connect.call(this, { ...options, lookup: undefined, host: '127.0.0.1', port }, ...rest);
  });
});
afterAll(() => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  connections = 0;
  reached = [];
  seen.length = 0;
  answer = (_, response) => response.setHeader('Content-Type', 'application/json').end('{"client_name":"x"}');
});
afterEach(() => server.closeAllConnections());

interface Dial {
  host: string;
  port: number;
  rejectUnauthorized?: boolean;
  lookup?: (host: string, options: object, found: (error: null, addresses: { address: string }[]) => void) => void;
}

const at = (...addresses: string[]): GuardedFetchOptions => ({ ca: certificate.cert, resolve: async () => addresses });
const refusal = async (url: string, options = at(PUBLIC)): Promise<GuardedFetchError> => {
  const error: unknown = await guardedFetch(url, options).then(
    () => 'served',
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(GuardedFetchError);
  return error as GuardedFetchError;
};

describe('an internal address', () => {
  it.each(flat(REFUSED_V4))('of IPv4, %s: %s, is not reached in any spelling', async (_, address) => {
    for (const host of spellings(address)) await refusal(`https://${host}/`);
    for (const embedded of [`::ffff:${address}`, `::${address}`, `64:ff9b::${address}`, `::ffff:0:${address}`])
      for (const host of spellingsOfV6(embedded)) await refusal(`https://${host}/`);
    expect([connections, reached]).toEqual([0, []]);
  });

  it.each(flat(REFUSED_V6))('of IPv6, %s: %s, is not reached in any spelling', async (_, address) => {
    for (const host of spellingsOfV6(address)) await refusal(`https://${host}/`);
    expect([connections, reached]).toEqual([0, []]);
  });

  it.each(flat({ ...REFUSED_V4, ...REFUSED_V6 }))('that a name resolves to, %s: %s, is not reached', async (_, address) => {
    const { reason, message, cause } = await refusal(`https://${NAME}/`, at(address));
    expect(reason).toBe(`${NAME} has no public address`);
    // Only the log shows causes.
    expect((cause as Error).cause).toMatchObject({ message: expect.stringContaining(`it is at ${address}`) });
    expect(message).toBe('The address could not be fetched.');
    // One bad address among good ones is enough for the refusal.
    await refusal(`https://${NAME}/`, at(PUBLIC, '2606:2800:21f::1', address));
    expect([connections, reached]).toEqual([0, []]);
  });

  it('with a zone is refused if a name resolves to it', async () => {
    await refusal(`https://${NAME}/`, at('fe80::1%eth0'));
    expect(reached).toEqual([]);
  });

  it.each(['localhost', 'LOCALHOST', 'localhost.', 'ｌｏｃａｌｈｏｓｔ', 'a.localhost'])(
    'behind the name %s is not reached with the default resolver',
    async (host) => {
      await refusal(`https://${host}/`, {});
      expect(reached).toEqual([]);
    },
  );
});

describe('a public address', () => {
  it('gets the name in SNI and Host', async () => {
    const answered = await guardedFetch(`https://${NAME}/meta.json?a=b%20c`, at(PUBLIC));
    expect([answered.status, answered.headers.get('content-type'), await answered.text()]).toEqual([
      200,
      'application/json',
      '{"client_name":"x"}',
    ]);
    expect([connections, reached]).toEqual([1, [`${PUBLIC} 443`]]);
    expect(seen).toMatchObject([{ url: '/meta.json?a=b%20c', name: NAME }]);
    expect(seen[0]!.headers).toEqual({
      host: NAME,
      accept: 'application/json',
      'accept-encoding': 'identity',
      connection: 'close',
    });
  });

  it('is pinned: a later resolution of the name has no effect', async () => {
    const answers = [[PUBLIC], ['127.0.0.1'], ['10.0.0.1']];
    const resolve = vi.fn(async () => answers.shift()!);
    await guardedFetch(`https://${NAME}/`, { ca: certificate.cert, resolve });
    expect([resolve.mock.calls.length, reached]).toEqual([1, [`${PUBLIC} 443`]]);
    // No connection is reused: the next request resolves the name again.
    const again = await refusal(`https://${NAME}/`, { ca: certificate.cert, resolve });
    expect([again.reason, connections]).toEqual([`${NAME} has no public address`, 1]);
  });

  it.each([
    ...['1.1.1.1', '2606:4700:4700::1111', '172.32.0.1', '100.128.0.1', '192.0.1.1', '198.20.0.1', '223.255.255.255'],
    // Adjacent to the addresses of the clouds' services.
    ...['168.63.129.15', '168.63.129.17', '161.25.255.255', '161.27.0.0', '166.7.255.255', '166.12.0.0'],
  ])('is reached: %s', async (address) => {
    await guardedFetch(`https://${NAME}/`, at(address));
    expect(reached).toEqual([`${address} 443`]);
  });

  it('receives the body of a request', async () => {
    let body = '';
    answer = (request, response) =>
      void request.on('data', (part) => (body += part)).on('end', () => response.end(request.method));
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'Accept-Encoding': 'gzip' };
    const fetched = await guardedFetch(`https://${NAME}/`, { ...at(PUBLIC), method: 'POST', headers, body: 'a=b' });
    expect([await fetched.text(), body, seen[0]!.headers['accept-encoding']]).toEqual(['POST', 'a=b', 'identity']);
  });

  it('with an untrusted certificate, or one for another name, is refused', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    await refusal(`https://${NAME}/`, { resolve: async () => [PUBLIC] });
    vi.unstubAllEnvs();
    await refusal('https://another.example/', at(PUBLIC));
    await refusal(`https://${PUBLIC}/`, at());
    expect(seen).toEqual([]);
    expect(reached).toHaveLength(3);
  });
});

describe('a URL', () => {
  it.each(
    flat({
      'not a URL': ['', 'client.example', 'https://', 'https://1.2.3.4.5/', 'https://256.1.1.1/'],
      'not https': [
        ...['http://client.example/', 'HTTP://client.example:443/', 'file:///etc/passwd', 'ftp://client.example/'],
        ...['data:application/json,{}', 'gopher://client.example:443/', 'blob:https://client.example/1'],
      ],
      'port 80 is': ['https://client.example:80/'],
      'port 8443 is': ['https://client.example:8443/'],
      'port 0 is': ['https://client.example:0/'],
      credentials: ['https://user@client.example/', 'https://user:pass@client.example/', 'https://:pass@client.example/'],
      fragment: ['https://client.example/#', 'https://client.example/#a'],
      dot: ['https://client.example./'],
    }),
  )('is refused (%s): %s', async (reason, url) => {
    expect((await refusal(url)).reason).toContain(reason);
    expect(reached).toEqual([]);
  });

  it('is refused if its name resolves to no address', async () => {
    expect((await refusal(`https://${NAME}/`, at())).reason).toContain('no public address');
  });
});

describe('a response', () => {
  it.each([300, 301, 302, 303, 304, 307, 308])('with status %d is refused, not followed', async (status) => {
    answer = (_, response) => response.writeHead(status, { Location: `https://${NAME}/next` }).end();
    expect((await refusal(`https://${NAME}/`)).reason).toContain('redirect');
    expect(connections).toBe(1);
  });

  it.each([404, 500])('with status %d is returned to the caller', async (status) => {
    answer = (_, response) => response.writeHead(status).end('no');
    expect((await guardedFetch(`https://${NAME}/`, at(PUBLIC))).status).toBe(status);
  });

  it('of 16 KiB is read, and one byte more is refused', async () => {
    answer = (_, response) => response.end('x'.repeat(16_384));
    expect(await (await guardedFetch(`https://${NAME}/`, at(PUBLIC))).text()).toHaveLength(16_384);
    answer = (_, response) => response.end('x'.repeat(16_385));
    expect((await refusal(`https://${NAME}/`)).reason).toContain('larger than 16384');
  });

  it('without an end is aborted once it is too large', async () => {
    const closed = Promise.withResolvers<void>();
    answer = (_, response) => {
      const more = setInterval(() => response.write('x'.repeat(1_000)), 1);
      response.once('close', () => (clearInterval(more), closed.resolve()));
    };
    expect((await refusal(`https://${NAME}/`)).reason).toContain('larger');
    await closed.promise;
  });

  it('with oversized headers is refused', async () => {
    answer = (_, response) => response.setHeader('X-Long', 'x'.repeat(100_000)).end();
    await refusal(`https://${NAME}/`);
  });

  it.each(['gzip', 'br', 'deflate', 'zstd', 'gzip, identity'])('with the content encoding %s is refused', async (encoding) => {
    answer = (_, response) => response.setHeader('Content-Encoding', encoding).end(gzipSync('x'.repeat(1_000_000)));
    expect((await refusal(`https://${NAME}/`)).reason).toContain('compressed');
  });

  it('that is cut off is refused', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'Content-Length': 100 }).write('{', () => response.destroy());
    };
    await refusal(`https://${NAME}/`);
    answer = (request) => request.socket.destroy();
    await refusal(`https://${NAME}/`);
    answer = (request) => request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    await refusal(`https://${NAME}/`);
  });

  it('that never comes, or trickles in, times out after 2 s', async () => {
    answer = (request, response) => {
      if (request.url === '/never') return;
      response.writeHead(200);
      const drops = setInterval(() => response.write('x'), 200);
      response.once('close', () => clearInterval(drops));
    };
    const started = performance.now();
    const refusals = await Promise.all(['never', 'drops'].map((path) => refusal(`https://${NAME}/${path}`)));
    for (const { reason } of refusals) expect(reason).toContain('2000 ms');
    expect(performance.now() - started).toBeGreaterThan(1_900);
  });

  it('that sets a cookie does not affect the next request', async () => {
    answer = (_, response) => response.setHeader('Set-Cookie', ['a=b', 'c=d']).end('{}');
    const { headers } = await guardedFetch(`https://${NAME}/`, at(PUBLIC));
    expect(headers.getSetCookie()).toEqual(['a=b', 'c=d']);
    await guardedFetch(`https://${NAME}/`, at(PUBLIC));
    expect(seen[1]!.headers.cookie).toBeUndefined();
  });
});

describe('an allowed host', () => {
  const allowHosts = ['Client.example:8443', '10.0.0.1:443', '[::1]:9443'];

  it('may have any address, but only its own port, and needs a trusted certificate', async () => {
    await guardedFetch(`https://${NAME}:8443/`, { ...at('127.0.0.1'), allowHosts });
    expect([reached, seen[0]!.headers.host]).toEqual([['127.0.0.1 8443'], `${NAME}:8443`]);
    await refusal(`https://${NAME}:8443/`, { resolve: async () => ['127.0.0.1'], allowHosts });
    expect(seen).toHaveLength(1);
  });

  it.each(['https://10.0.0.1/', 'https://[::1]:9443/'])('may be listed by its address: %s', async (url) => {
    // The request arrives, but the certificate is for another name.
    await refusal(url, { ...at(), allowHosts });
    expect(reached).toHaveLength(1);
  });

  it.each([
    `http://${NAME}:8443/`,
    `https://user@${NAME}:8443/`,
    `https://${NAME}:8443/#a`,
    `https://${NAME}:8444/`,
    `https://${NAME}/`,
    `https://x.${NAME}:8443/`,
    'https://10.0.0.1:8443/',
    'https://[::1]/',
  ])('does not cover %s', async (url) => {
    await refusal(url, { ...at('127.0.0.1'), allowHosts });
    expect(reached).toEqual([]);
  });
});
