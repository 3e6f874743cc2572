import { X509Certificate } from 'node:crypto';

/** The programs of an installation that call services. If listeners admit programs by name, each has a certificate for the DNS name `PROGRAM.DOMAIN`. */
export const PROGRAMS = ['api-gateway', 'tool-gateway', 'calls', 'projects', 'entities', 'webhooks', 'crs'] as const;

export type Program = (typeof PROGRAMS)[number];

/** Identifies clients by the DNS names in their certificates. */
export class Peers {
  readonly #domain: string;
  readonly #further: readonly string[];

  /**
   * @param domain the suffix of our programs' names. Each installation has its own, so that one CA may serve several installations
   * @param further DNS names of other clients, such as Envoy; they may make every call
   */
  constructor(domain: string, further: readonly string[] = []) {
    this.#domain = domain;
    this.#further = further;
  }

  /** Returns the DNS names of a certificate that we know. @param der the certificate; undefined if the client presented none */
  namesOf(der: Buffer | undefined): string[] {
    if (!der) return [];
    const certificate = new X509Certificate(der);
    const known = [...PROGRAMS.map((program) => this.#nameOf(program)), ...this.#further];
    return known.filter((name) => certificate.checkHost(name, { wildcards: false }) !== undefined);
  }

  /** Whether a client with these DNS names may make a call that is for these programs. */
  admits(names: readonly string[], from: readonly Program[]): boolean {
    const admitted = [...from.map((program) => this.#nameOf(program)), ...this.#further];
    return names.some((name) => admitted.includes(name));
  }

  #nameOf(program: Program): string {
    return `${program}.${this.#domain}`;
  }
}
