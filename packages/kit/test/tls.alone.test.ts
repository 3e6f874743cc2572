import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createAuthority, type Authority, type Certificate } from '../../../testing/src/certificate.ts';
import { createLogger } from '../src/process/log.ts';
import { Tls } from '../src/process/tls.ts';
import { callerOf, log as silent, OK, startService } from './_service.ts';
import { directoryOf, open, write } from './_tls.ts';

const ours = createAuthority('ours');
const other = createAuthority('ours');

const tlsOf = (certificate: Certificate, ...trusted: Authority[]) => open(directoryOf(certificate, ...trusted));

/** Starts a service with one RPC. */
async function startServer(tls: Tls | undefined, handle = async () => OK): Promise<number> {
  const server = await startService(handle, { tls });
  return Number(server.address.split(':')[1]);
}

const clientOf = (port: number, tls: Tls | undefined, host = 'localhost') => callerOf(`${host}:${port}`, { tls });

/** The fingerprint of the certificate that the listener presents to a new connection. */
async function presentedFingerprint(port: number, trusted: Authority, { cert, key }: Certificate): Promise<string> {
  const socket: TLSSocket = connect({ port, host: 'localhost', ca: trusted.cert, cert, key, ALPNProtocols: ['h2'] });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  const { fingerprint256 } = socket.getPeerX509Certificate()!;
  socket.destroy();
  return fingerprint256;
}

const UNAVAILABLE = { kind: 'unavailable' };

describe('gRPC with mTLS', () => {
  it('connects a client and a server with certificates of the same CA', async () => {
    const port = await startServer(await tlsOf(ours.issue('localhost'), ours));
    expect(await clientOf(port, await tlsOf(ours.issue('api-gateway'), ours))()).toEqual(OK);
  });

  it('refuses plaintext', async () => {
    const tls = await tlsOf(ours.issue('localhost'), ours);
    await expect(clientOf(await startServer(tls), undefined)()).rejects.toMatchObject(UNAVAILABLE);
  });

  it.each<[string, Certificate, Authority]>([
    ['a client whose certificate is of another CA', other.issue('api-gateway'), ours],
    ['a server whose CA the client does not trust', ours.issue('api-gateway'), other],
  ])('refuses %s', async (_what, certificate, trusted) => {
    const port = await startServer(await tlsOf(ours.issue('localhost'), ours));
    await expect(clientOf(port, await tlsOf(certificate, trusted))()).rejects.toMatchObject(UNAVAILABLE);
  });

  it('refuses a client without a certificate', async () => {
    const port = await startServer(await tlsOf(ours.issue('localhost'), ours));
    const socket = connect({ port, host: 'localhost', ca: ours.cert, ALPNProtocols: ['h2'] }).resume();
    // In TLS 1.3 the client counts as connected until the server's refusal arrives.
    const error = await new Promise<Error & { code?: string }>((resolve) => socket.on('error', resolve));
    expect(error.code).toBe('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED');
  });

  it('refuses a server whose certificate has another name', async () => {
    const port = await startServer(await tlsOf(ours.issue('calls'), ours));
    await expect(clientOf(port, await tlsOf(ours.issue('api-gateway'), ours))()).rejects.toMatchObject(UNAVAILABLE);
  });

  it('refuses to call a service by its IP address, because certificates identify services by name', async () => {
    const tls = await tlsOf(ours.issue('127.0.0.1'), ours);
    expect(() => clientOf(50051, tls, '127.0.0.1')).toThrow(
      "127.0.0.1 can't be reached over TLS: with CRS_TLS_DIR set, services are addressed by DNS name.",
    );
  });
});

describe('renewed certificates', () => {
  it('are used by both sides for new connections, and calls in progress continue', async () => {
    const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const serverDirectory = directoryOf(ours.issue('localhost'), ours);
    const clientDirectory = directoryOf(ours.issue('api-gateway'), ours);
    const [serverTls, clientTls] = [await open(serverDirectory), await open(clientDirectory)];
    const port = await startServer(serverTls, async () => {
      begun.resolve();
      await released.promise;
      return OK;
    });
    const call = clientOf(port, clientTls);
    const inProgress = call();
    await begun.promise;

    const [newServer, newClient] = [other.issue('localhost'), other.issue('api-gateway')];
    write(serverDirectory, newServer, other);
    write(clientDirectory, newClient, other);
    await Promise.all([serverTls.reload(), clientTls.reload()]);
    expect(await presentedFingerprint(port, other, newClient)).toBe(new X509Certificate(newServer.cert).fingerprint256);
    await expect(clientOf(port, await tlsOf(ours.issue('api-gateway'), ours))()).rejects.toMatchObject(UNAVAILABLE);

    released.resolve();
    expect(await inProgress).toEqual(OK);
    expect(await call()).toEqual(OK);
    // A second listener makes the client open a new connection.
    expect(await clientOf(await startServer(serverTls), clientTls)()).toEqual(OK);
  });

  it('are detected by polling, without a signal', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const directory = directoryOf(ours.issue('localhost'), ours);
    const port = await startServer(await open(directory));
    const renewed = ours.issue('localhost');
    write(directory, renewed, ours);
    vi.advanceTimersByTime(5_000);
    await expect
      .poll(() => presentedFingerprint(port, ours, ours.issue('any')))
      .toBe(new X509Certificate(renewed.cert).fingerprint256);
  });

  it('are used after Kubernetes replaces a mounted Secret by swapping a symlink', async () => {
    const volume = mkdtempSync(join(tmpdir(), 'crs-volume-'));
    onTestFinished(() => rmSync(volume, { recursive: true }));
    const put = (version: string, certificate: Certificate) => {
      mkdirSync(join(volume, version));
      write(join(volume, version), certificate, ours);
      symlinkSync(version, join(volume, '..data_tmp'));
      renameSync(join(volume, '..data_tmp'), join(volume, '..data'));
    };
    put('..1', ours.issue('localhost'));
    for (const name of ['tls.crt', 'tls.key', 'ca.crt']) symlinkSync(join('..data', name), join(volume, name));
    const tls = await open(volume);
    const port = await startServer(tls);
    const renewed = ours.issue('localhost');
    put('..2', renewed);
    await tls.reload();
    expect(await presentedFingerprint(port, ours, ours.issue('any'))).toBe(new X509Certificate(renewed.cert).fingerprint256);
  });

  it('are ignored until all their files are written, and the problem is logged once', async () => {
    const logged: string[] = [];
    const log = createLogger('test', {
      destination: new Writable({
        write: (line, _, done) => {
          logged.push(String(line));
          done();
        },
      }),
    });
    const first = ours.issue('localhost');
    const directory = directoryOf(first, ours);
    const tls = await open(directory, log);
    const port = await startServer(tls);
    writeFileSync(join(directory, 'tls.crt'), ours.issue('localhost').cert);
    await tls.reload();
    await tls.reload();
    expect(await presentedFingerprint(port, ours, ours.issue('any'))).toBe(new X509Certificate(first.cert).fingerprint256);
    await sleep(50);
    expect(logged).toEqual([expect.stringContaining(`tls.key in ${directory} is not the key of tls.crt`)]);
    expect(logged[0]).not.toContain('PRIVATE');
  });
});

describe('an unusable CRS_TLS_DIR', () => {
  it.each([
    ['has no ca.crt', (directory: string) => rmSync(join(directory, 'ca.crt')), /ca\.crt can't be read \(ENOENT\)$/],
    ['has no tls.key', (directory: string) => rmSync(join(directory, 'tls.key')), /tls\.key can't be read \(ENOENT\)$/],
    ['has an empty certificate', (directory: string) => writeFileSync(join(directory, 'tls.crt'), ''), /tls\.crt holds no PEM/],
    [
      'has another key',
      (directory: string) => write(directory, { ...ours.issue('a'), cert: ours.issue('a').cert }, ours),
      /is not the key/,
    ],
  ])('makes the start fail with the reason: it %s', async (_what, spoil, message) => {
    const directory = directoryOf(ours.issue('localhost'), ours);
    spoil(directory);
    const opening = Tls.open(directory, silent);
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.toThrow(/^CRS_TLS_DIR can't be used: /);
  });
});

describe('HTTPS with mTLS', () => {
  const agent = new Agent({ keepAlive: true });
  afterEach(() => agent.destroy());

  async function startHttps(tls: Tls): Promise<number> {
    const server = tls.createHttpsServer({}, [], (_request, response) => response.end('hello'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return (server.address() as AddressInfo).port;
  }
  /** Sends a request as the tool gateway does, with the public host name in Host. */
  const ask = (port: number, tls: Tls) =>
    new Promise<string>((resolve, reject) => {
      const options = { host: 'localhost', port, agent, headers: { Host: 'tools.example.com' } };
      request({ ...options, ...tls.httpsRequestOptions('localhost') }, (answer) => void text(answer).then(resolve, reject))
        .on('error', reject)
        .end();
    });

  it('connects a client and a server with certificates of the same CA, and no others', async () => {
    const port = await startHttps(await tlsOf(ours.issue('localhost'), ours));
    expect(await ask(port, await tlsOf(ours.issue('tool-gateway'), ours))).toBe('hello');
    await expect(ask(port, await tlsOf(other.issue('tool-gateway'), ours))).rejects.toThrow(/alert|hang up/);
    await expect(ask(port, await tlsOf(ours.issue('tool-gateway'), other))).rejects.toThrow(/verify|certificate/);
    const misnamed = await startHttps(await tlsOf(ours.issue('tools.example.com'), ours));
    await expect(ask(misnamed, await tlsOf(ours.issue('tool-gateway'), ours))).rejects.toThrow(/localhost/);
  });

  it('uses renewed certificates on both sides', async () => {
    const directory = directoryOf(ours.issue('localhost'), ours);
    const tls = await open(directory);
    const port = await startHttps(tls);
    expect(await ask(port, tls)).toBe('hello');
    write(directory, other.issue('localhost'), other);
    await tls.reload();
    expect(await ask(port, tls)).toBe('hello');
    await expect(ask(port, await tlsOf(ours.issue('tool-gateway'), other))).rejects.toThrow(/alert|hang up/);
  });
});
