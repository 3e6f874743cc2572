import { X509Certificate } from 'node:crypto';

/** The programs of an installation that call services. With named peers, the certificate of each has its name as a DNS name. */
export const PROGRAMS = ['api-gateway', 'tool-gateway', 'calls', 'projects', 'entities', 'crs'] as const;

export type Program = (typeof PROGRAMS)[number];

/** The names of a listener's clients, by their certificates. */
export class Peers {
  readonly #further: readonly string[];

  /** @param further names that may call everything: clients that aren't ours, such as Envoy at rate-limit */
  constructor(further: readonly string[]) {
    this.#further = further;
  }

  /** The names of a certificate that mean anything here. @param der the certificate; undefined where the client showed none */
  namesOf(der: Buffer | undefined): string[] {
    if (!der) return [];
    const certificate = new X509Certificate(der);
    // The subject's common name counts where the certificate has no DNS names.
    return [...PROGRAMS, ...this.#further].filter((name) => certificate.checkHost(name, { wildcards: false }) !== undefined);
  }

  /** Whether one of these names may make a call that is for these programs. */
  admits(names: readonly string[], from: readonly Program[]): boolean {
    return names.some((name) => from.includes(name as Program) || this.#further.includes(name));
  }
}
