import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Logger } from './log.ts';

const RELOAD_EVERY_MS = 5_000;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The files of `CRS_TRUSTED_CERTIFICATES`, with the CAs that this process trusts besides the public ones and that of `NODE_EXTRA_CA_CERTS`, which
 * Node.js reads once. New connections to PostgreSQL, Redis, OpenID providers and the collector use the current files; open connections stay. If a
 * file is invalid, that is logged, and the former content of all stays in use.
 */
export class TrustedCertificates {
  readonly #paths: readonly string[];
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  /** What the process trusts without the files. */
  readonly #others: string[];
  #content: string | undefined;
  #problem = '';

  /** Reads the files, and then again every few seconds. */
  static async open(paths: readonly string[], log: Logger): Promise<TrustedCertificates> {
    const trusted = new TrustedCertificates(paths, log);
    await trusted.reload();
    return trusted;
  }

  private constructor(paths: readonly string[], log: Logger) {
    this.#paths = paths;
    this.#log = log;
    this.#others = getCACertificates('default');
    this.#timer = setInterval(() => void this.reload(), RELOAD_EVERY_MS).unref();
  }

  /** Reads the files now. A timer does the same every few seconds. */
  async reload(): Promise<void> {
    try {
      const contents = await Promise.all(this.#paths.map((path) => readFile(path, 'utf8')));
      const content = contents.join('\n');
      if (content === this.#content) return;
      const certificates = contents.flatMap((each, index) => certificatesOf(each, this.#paths[index]!));
      setDefaultCACertificates([...this.#others, ...certificates]);
      if (this.#content !== undefined)
        this.#log.info({ certificates: certificates.length }, 'trusted certificates were reloaded');
      this.#content = content;
      this.#problem = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#problem)
        this.#log.warn({ err: error }, 'trusted certificates could not be read, the old ones stay in use');
      this.#problem = message;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

/** Returns the certificates in the content of a file. @throws Error if there is none, or one is invalid */
function certificatesOf(content: string, path: string): string[] {
  const certificates = content.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new Error(`${path} holds no certificate`);
  for (const each of certificates) new X509Certificate(each);
  return certificates;
}
