import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, getCACertificates, setDefaultCACertificates, type Server } from 'node:tls';
import { afterAll, afterEach, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { createAuthority, type Authority } from '../../../testing/src/certificate.ts';
import { clientOf } from '../src/data/connection.ts';
import { createLogger } from '../src/process/log.ts';
import { TrustedCertificates } from '../src/process/trusted-certificates.ts';

const directory = mkdtempSync(join(tmpdir(), 'crs-trusted-'));
const bundle = join(directory, 'ca.crt');
const original = getCACertificates('default');
afterAll(() => rmSync(directory, { recursive: true }));
afterEach(() => setDefaultCACertificates(original));

const lines: string[] = [];
const log = createLogger('test', { destination: { write: (line: string) => void lines.push(line) } });
const [first, second] = [createAuthority('first'), createAuthority('second')];

/** Replaces the bundle at once, as the kubelet does. */
function trust(...authorities: Authority[]): void {
  writeFileSync(`${bundle}.new`, authorities.map(({ cert }) => cert).join(''));
  renameSync(`${bundle}.new`, bundle);
}

/** Serves PostgreSQL by TLS, and requests by HTTPS. @returns the port, and a function that replaces the certificate */
async function serve() {
  const { hostname, port } = new URL(inject('postgresUrl'));
  const server: Server = createServer({ ...first.issue('localhost'), ALPNProtocols: ['postgresql', 'http/1.1'] }, (near) => {
    near.on('error', () => {});
    if (near.alpnProtocol !== 'postgresql') return void near.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n');
    const far = connect(Number(port), hostname).on('error', () => {});
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  onTestFinished(() => void server.close());
  return {
    port: (server.address() as AddressInfo).port,
    use: (authority: Authority) => server.setSecureContext(authority.issue('localhost')),
  };
}

/** Connects to PostgreSQL by a URL with these parameters. */
async function connectTo(port: number, parameters = ''): Promise<void> {
  const url = new URL(inject('postgresUrl'));
  [url.hostname, url.port, url.search] = ['localhost', String(port), `sslmode=verify-full&sslnegotiation=direct${parameters}`];
  const client = new (clientOf(url.href))();
  client.on('error', () => {});
  await client.connect();
  await client.query('select 1');
  await client.end();
}

const request = (port: number) =>
  new Promise<void>((resolve, reject) => {
    get({ host: 'localhost', port, agent: false }, (response) => response.resume().on('end', resolve)).on('error', reject);
  });

/** Connects again and again during the steps, and several times between two of them. @returns the errors */
async function errorsDuring(connectOnce: () => Promise<void>, steps: (() => unknown)[]): Promise<string[]> {
  const errors: string[] = [];
  let connections = 0;
  let isDone = false;
  const worker = async () => {
    while (!isDone) {
      await connectOnce().catch((error: Error) => errors.push(error.message));
      connections += 1;
    }
  };
  const workers = [worker(), worker()];
  for (const step of [...steps, () => {}]) {
    await expect.poll(() => connections).toBeGreaterThan(4);
    await step();
    connections = 0;
  }
  isDone = true;
  await Promise.all(workers);
  return errors;
}

/** The steps of replacing a CA: both are trusted while servers get certificates of the new one. */
const renewal = (use: (authority: Authority) => void, reload = async () => {}) => [
  () => trust(first, second),
  reload,
  () => use(second),
  () => trust(second),
  reload,
];

describe('a bundle of CAs that is renewed while connections are made', () => {
  beforeEach(() => trust(first));

  it.each([
    ['PostgreSQL', connectTo],
    ['HTTPS', request],
  ])('fails no connection to %s that trusts a file of CRS_TRUSTED_CERTIFICATES', async (_, open) => {
    const { port, use } = await serve();
    await expect(open(port)).rejects.toThrow(/self-signed|unable to verify|unable to get/);
    const trusted = await TrustedCertificates.open([bundle], log);
    onTestFinished(() => trusted.close());
    expect(
      await errorsDuring(
        () => open(port),
        renewal(use, () => trusted.reload()),
      ),
    ).toEqual([]);
    use(first);
    await expect(open(port)).rejects.toThrow();
  });

  it('fails no connection to PostgreSQL whose URL names the file as sslrootcert', async () => {
    const { port, use } = await serve();
    const open = () => connectTo(port, `&sslrootcert=${bundle}`);
    expect(await errorsDuring(open, renewal(use))).toEqual([]);
    use(first);
    await expect(open()).rejects.toThrow();
  });
});

it.each([
  ['is empty', ''],
  ['is half written', first.cert.slice(0, 200)],
  ['holds something else', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
])('a bundle that %s is logged once and not used', async (_, content) => {
  const { port } = await serve();
  trust(first);
  const trusted = await TrustedCertificates.open([bundle], log);
  onTestFinished(() => trusted.close());
  lines.length = 0;
  writeFileSync(bundle, content);
  await trusted.reload();
  await trusted.reload();
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    'trusted certificates could not be read, the old ones stay in use',
  ]);
  await request(port);
});

it('each of several files is trusted, and a renewed one does not take the others away', async () => {
  const [former, other] = [first, createAuthority('other')];
  const otherBundle = join(directory, 'other.crt');
  writeFileSync(otherBundle, other.cert);
  trust(former);
  const { port, use } = await serve();
  const trusted = await TrustedCertificates.open([bundle, otherBundle], log);
  onTestFinished(() => trusted.close());
  await request(port);
  use(other);
  await request(port);
  trust(second);
  await trusted.reload();
  await request(port);
  use(second);
  await request(port);
  use(former);
  await expect(request(port)).rejects.toThrow();
});
