import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { credentials, experimental, type ChannelCredentials, type ServerCredentials } from '@grpc/grpc-js';
import type { Logger } from './log.ts';
import type { Peers, Program } from './peers.ts';
import { observeGauge } from './telemetry.ts';

/** PEM, as in a Secret of the type `kubernetes.io/tls`. */
interface Files {
  /** `tls.crt`: our certificate, followed by intermediate ones. */
  cert: Buffer;
  /** `tls.key`. */
  key: Buffer;
  /** `ca.crt`: the CA certificates that we trust. */
  ca: Buffer;
}

const RELOAD_EVERY_MS = 5_000;

/**
 * Mutual TLS between our processes, by the files of a directory. Each side presents `tls.crt` and requires a certificate that a CA of `ca.crt` signed. The
 * files are read every few seconds. New connections use the new files; open connections stay. Invalid files (half written, or a key of another certificate)
 * are logged and ignored.
 */
export class Tls {
  /** Identifies programs. Absent: every client with a valid certificate may make every call. */
  readonly peers: Peers | undefined;
  readonly #directory: string;
  readonly #log: Logger;
  /** Callbacks after a reload, by their owners. */
  readonly #onReload = new Map<object, () => void>();
  readonly #provider: experimental.CertificateProvider;
  readonly #timer: NodeJS.Timeout;
  readonly #closeMetrics: () => void;
  #files: Files;
  #problem = '';

  /** @throws Error that names the missing or invalid file */
  static async open(directory: string, log: Logger, peers?: Peers): Promise<Tls> {
    try {
      return new Tls(directory, await read(directory), log, peers);
    } catch (error) {
      throw new Error(`CRS_TLS_DIR can't be used: ${(error as Error).message}`);
    }
  }

  private constructor(directory: string, files: Files, log: Logger, peers: Peers | undefined) {
    this.peers = peers;
    this.#directory = directory;
    this.#files = files;
    this.#log = log;
    this.#provider = this.#createProvider();
    this.#timer = setInterval(() => void this.reload(), RELOAD_EVERY_MS).unref();
    const closeAll = [
      observeExpiry(
        'crs.tls.certificate.expiry',
        'When the certificate in use expires, in Unix time.',
        () => new X509Certificate(this.#files.cert),
      ),
      observeExpiry('crs.tls.authority.expiry', 'When the CA of the certificate in use expires, in Unix time.', () =>
        rootOf(this.#files),
      ),
    ];
    this.#closeMetrics = () => closeAll.forEach((close) => close());
  }

  /** For a gRPC listener that requires client certificates. */
  serverCredentials(): ServerCredentials {
    return experimental.createCertificateProviderServerCredentials(this.#provider, this.#provider, true);
  }

  channelCredentials(): ChannelCredentials {
    return experimental.createCertificateProviderChannelCredentials(this.#provider, this.#provider);
  }

  /** Creates an HTTPS server that requires client certificates; if they name programs, that of one of these. */
  createHttpsServer(options: ServerOptions, from: readonly Program[], app: RequestListener): Server {
    const server = createServer({ ...options, ...this.#files, requestCert: true, rejectUnauthorized: true }, app);
    const { peers } = this;
    if (peers) {
      server.prependListener('secureConnection', (socket) => {
        if (!peers.admits(peers.namesOf(socket.getPeerX509Certificate()?.raw), from)) socket.destroy();
      });
    }
    this.#onReload.set(server, () => server.setSecureContext(this.#files));
    return server.once('close', () => this.#onReload.delete(server));
  }

  /** Options of an HTTPS request. Agents pool connections by these options, so certificates don't mix. */
  httpsRequestOptions(host: string): Files & { servername: string } {
    // Otherwise Node.js would verify the name in the `Host` header.
    return { ...this.#files, servername: isIP(host) ? '' : host };
  }

  /** Reads the files now. A timer does the same every few seconds. */
  async reload(): Promise<void> {
    try {
      const files = await read(this.#directory);
      this.#problem = '';
      const { cert, key, ca } = this.#files;
      if (cert.equals(files.cert) && key.equals(files.key) && ca.equals(files.ca)) return;
      this.#files = files;
      for (const notify of this.#onReload.values()) notify();
      this.#log.info('certificates were reloaded');
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#problem)
        this.#log.warn({ err: error }, 'new certificates could not be used, the old ones stay in use');
      this.#problem = message;
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#closeMetrics();
  }

  /** Replaces the file-based provider of grpc-js, which reads the files separately, and refuses connections while they don't match. */
  #createProvider(): experimental.CertificateProvider {
    const add = (listener: object, notify: () => void) => {
      this.#onReload.set(listener, notify);
      process.nextTick(notify);
    };
    const remove = (listener: object) => this.#onReload.delete(listener);
    return {
      addCaCertificateListener: (listener) => add(listener, () => listener({ caCertificate: this.#files.ca })),
      addIdentityCertificateListener: (listener) =>
        add(listener, () => listener({ certificate: this.#files.cert, privateKey: this.#files.key })),
      removeCaCertificateListener: remove,
      removeIdentityCertificateListener: remove,
    };
  }
}

function observeExpiry(name: string, description: string, read: () => X509Certificate | undefined): () => void {
  return observeGauge('kit', name, { unit: 's', description }, (result) => {
    const certificate = read();
    if (certificate) result.observe(certificate.validToDate.getTime() / 1000);
  });
}

/** Returns the CA that signed our chain; undefined if `ca.crt` doesn't contain it. */
function rootOf({ cert, ca }: Files): X509Certificate | undefined {
  const last = certificatesOf(cert).at(-1);
  return certificatesOf(ca).find((issuer) => last?.checkIssued(issuer) && last.verify(issuer.publicKey));
}

function certificatesOf(pem: Buffer): X509Certificate[] {
  const blocks = pem.toString().match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

/** @throws Error if TLS is on and the host is an IP address, because our certificates contain only DNS names */
export function channelCredentials(tls: Tls | undefined, host: string): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  if (isIP(host)) throw new Error(`${host} can't be reached over TLS: with CRS_TLS_DIR set, services are addressed by DNS name.`);
  return tls.channelCredentials();
}

async function read(directory: string): Promise<Files> {
  const [cert, key, ca] = await Promise.all(
    ['tls.crt', 'tls.key', 'ca.crt'].map(async (name) => {
      try {
        return await readFile(join(directory, name));
      } catch (error) {
        throw new Error(`${join(directory, name)} can't be read (${(error as NodeJS.ErrnoException).code})`);
      }
    }),
  );
  const files = { cert: cert!, key: key!, ca: ca! };
  validate(directory, files);
  return files;
}

/** Its errors have no `cause`, to keep OpenSSL's messages about a key out of the log. */
function validate(directory: string, { cert, key, ca }: Files): void {
  const parsed = (name: string, parse: () => unknown) => {
    try {
      return parse();
    } catch {
      throw new Error(`${join(directory, name)} holds no PEM that can be used`);
    }
  };
  const certificate = parsed('tls.crt', () => new X509Certificate(cert)) as X509Certificate;
  const privateKey = parsed('tls.key', () => createPrivateKey(key)) as ReturnType<typeof createPrivateKey>;
  parsed('ca.crt', () => new X509Certificate(ca));
  if (!certificate.checkPrivateKey(privateKey)) throw new Error(`tls.key in ${directory} is not the key of tls.crt`);
  parsed('', () => createSecureContext({ cert, key, ca }));
}
