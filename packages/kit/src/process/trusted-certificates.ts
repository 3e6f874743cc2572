import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Logger } from './log.ts';

const RELOAD_EVERY_MS = 5_000;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The file of `NODE_EXTRA_CA_CERTS`, with the CAs that this process trusts besides the public ones. Node.js reads it at start; this reads it every few
 * seconds. New connections to PostgreSQL, Redis, OpenID providers and the collector use the new file; open connections stay. An invalid file is
 * logged and ignored.
 */
export class TrustedCertificates {
  readonly #path: string;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  /** What the process trusts without the file. */
  readonly #others: string[];
  #content: string | undefined;
  #problem = '';

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
    const extra = new Set(getCACertificates('extra'));
    this.#others = getCACertificates('default').filter((each) => !extra.has(each));
    this.#timer = setInterval(() => void this.reload(), RELOAD_EVERY_MS).unref();
  }

  /** Reads the file now. A timer does the same every few seconds. */
  async reload(): Promise<void> {
    try {
      const content = await readFile(this.#path, 'utf8');
      if (content === this.#content) return;
      const certificates = content.match(CERTIFICATE) ?? [];
      if (certificates.length === 0) throw new Error(`${this.#path} holds no certificate`);
      for (const each of certificates) new X509Certificate(each);
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
