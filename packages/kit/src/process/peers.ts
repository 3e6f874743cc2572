import { X509Certificate } from 'node:crypto';

/** The programs of an installation that call services. With named peers, the certificate of each has the DNS name `PROGRAM.DOMAIN`. */
export const PROGRAMS = ['api-gateway', 'tool-gateway', 'calls', 'projects', 'entities', 'crs'] as const;

export type Program = (typeof PROGRAMS)[number];

/** Knows the clients of a listener by the DNS names in their certificates. */
export class Peers {
  readonly #domain: string;
  readonly #further: readonly string[];

  /**
   * @param domain ends the names of our programs. Each installation has its own, so that one CA may serve several installations
   * @param further DNS names of clients that aren't ours, such as Envoy at rate-limit; they may call everything
   */
  constructor(domain: string, further: readonly string[] = []) {
    this.#domain = domain;
    this.#further = further;
  }

  /** The DNS names of a certificate that mean anything here. @param der the certificate; undefined if the client showed none */
  namesOf(der: Buffer | undefined): string[] {
    if (!der) return [];
    const certificate = new X509Certificate(der);
    const known = [...PROGRAMS.map((program) => this.#nameOf(program)), ...this.#further];
    // The subject's common name counts if the certificate has no DNS names.
    return known.filter((name) => certificate.checkHost(name, { wildcards: false }) !== undefined);
  }

  /** Whether one of these DNS names may make a call that is for these programs. */
  admits(names: readonly string[], from: readonly Program[]): boolean {
    const admitted = [...from.map((program) => this.#nameOf(program)), ...this.#further];
    return names.some((name) => admitted.includes(name));
  }

  #nameOf(program: Program): string {
    return `${program}.${this.#domain}`;
  }
}
