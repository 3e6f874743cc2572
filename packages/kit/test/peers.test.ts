import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Client } from '@grpc/grpc-js';
import { service as health } from 'grpc-health-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority, type Certificate } from '../../../testing/src/certificate.ts';
import { createLogger } from '../src/process/log.ts';
import { Peers } from '../src/process/peers.ts';
import { callerOf, OK, startService } from './_service.ts';
import { directoryOf, open } from './_tls.ts';

const authority = createAuthority('ours');
const DOMAIN = 'crs.research.call-research';
/** The certificate name of one of our programs. */
const named = (program: string) => `${program}.${DOMAIN}`;

const tlsOf = (certificate: Certificate, peers?: Peers) => open(directoryOf(certificate, authority), undefined, peers);

/** Starts a service whose RPC admits api-gateway and tool-gateway. @returns its address */
async function startServer(peers: Peers | undefined, lines: string[] = []) {
  const log = createLogger('test', { destination: { write: (line: string) => void lines.push(line) } });
  const tls = await tlsOf(authority.issue('rate-limit', 'localhost'), peers);
  const server = await startService(async () => OK, { log, tls });
  return `localhost:${server.address.split(':')[1]}`;
}

/** Sends concurrent calls from a client with this certificate. @returns the outcome of each */
async function call(address: string, certificate: Certificate, times = 1): Promise<string[]> {
  const send = callerOf(address, { tls: await tlsOf(certificate) });
  const outcome = async () =>
    send().then(
      ({ overallCode }) => overallCode,
      ({ kind, reason }) => `${kind} ${reason}`,
    );
  return Promise.all(Array.from({ length: times }, outcome));
}

/** What a refused client reports: it takes the refusal for version skew, and gives up after it has tried two more replicas. */
const REFUSED = 'unavailable NOT_OFFERED';

const REFUSED_CLIENTS = {
  'another service': authority.issue(named('calls')),
  'the name of the Kubernetes Service of an allowed one': authority.issue('crs-api-gateway'),
  'a name without release and namespace': authority.issue('api-gateway'),
  'another release in the same namespace': authority.issue('api-gateway.staging.research.call-research', 'localhost'),
  'the same release name in another namespace': authority.issue('api-gateway.crs.other.call-research', 'localhost'),
  'a name that begins like an allowed one': authority.issue(`${named('api-gateway')}.evil.example`),
  'a name that ends like an allowed one': authority.issue(`evil.${named('api-gateway')}`),
  'a wildcard name': authority.issue('*', `*.${DOMAIN}`),
  'an allowed common name, and other DNS names': authority.issueTo(named('api-gateway'), named('calls')),
  'a further client whose name is not configured': authority.issue('envoy'),
};

describe('a listener that checks the names of its clients', () => {
  it.each([
    ['api-gateway', [named('api-gateway')]],
    ['tool-gateway, with the names of its Kubernetes Service', ['crs-tool-gateway', named('tool-gateway')]],
    ['api-gateway, named only in the common name', []],
  ])('admits %s', async (_, names) => {
    const certificate = names.length > 0 ? authority.issue(...names) : authority.issueTo(named('api-gateway'));
    expect(await call(await startServer(new Peers(DOMAIN)), certificate)).toEqual(['OK']);
  });

  it('refuses each call of any other client, and logs it', async () => {
    const results = Object.entries(REFUSED_CLIENTS).map(async ([what, certificate]) => {
      const lines: string[] = [];
      const outcomes = await call(await startServer(new Peers(DOMAIN), lines), certificate, 3);
      const warned = lines.map((line) => JSON.parse(line) as { msg: string }).filter(({ msg }) => msg.includes('not for it'));
      return [what, outcomes, warned.length];
    });
    expect(await Promise.all(results)).toEqual(
      Object.keys(REFUSED_CLIENTS).map((what) => [what, [REFUSED, REFUSED, REFUSED], 9]),
    );
  });

  it('also admits clients whose names are configured', async () => {
    const address = await startServer(new Peers(DOMAIN, ['envoy.mesh', named('envoy')]));
    expect(await call(address, authority.issue('envoy.mesh'))).toEqual(['OK']);
    expect(await call(address, authority.issue(named('envoy')))).toEqual(['OK']);
    expect(await call(address, authority.issue('envoy'))).toEqual([REFUSED]);
    expect(await call(address, authority.issue(named('calls')))).toEqual([REFUSED]);
    expect(await call(address, authority.issue(named('api-gateway')))).toEqual(['OK']);
  });

  it('serves health checks to every client with a certificate', async () => {
    const address = await startServer(new Peers(DOMAIN));
    const tls = await tlsOf(authority.issue(named('calls')));
    const healthClient = new Client(address, tls.channelCredentials());
    onTestFinished(() => healthClient.close());
    const { path, requestSerialize, responseDeserialize } = health['Check']!;
    const status = await new Promise((resolve, reject) =>
      healthClient.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service: '' }, (error, answer) =>
        error ? reject(error) : resolve(answer),
      ),
    );
    expect(status).toMatchObject({ status: 'SERVING' });
  });

  it('serves HTTPS only to the program that it admits', async () => {
    const tls = await tlsOf(authority.issue('auth', 'localhost'), new Peers(DOMAIN));
    const server = tls.createHttpsServer({}, ['tool-gateway'], (_request, response) => response.end('hello'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const ask = (name: string) =>
      new Promise((resolve) => {
        const { port } = server.address() as AddressInfo;
        request(
          { host: '127.0.0.1', port, servername: 'localhost', ca: authority.cert, ...authority.issue(name) },
          (response) => {
            response.resume();
            resolve(response.statusCode);
          },
        )
          .on('error', () => resolve('refused'))
          .end();
      });
    expect(await ask(named('tool-gateway'))).toBe(200);
    expect(await ask(named('calls'))).toBe('refused');
    expect(await ask('tool-gateway.staging.research.call-research')).toBe('refused');
  });
});

it('a listener that does not check names admits every certificate of its CA', async () => {
  expect(await call(await startServer(undefined), authority.issue('shared'))).toEqual(['OK']);
});
