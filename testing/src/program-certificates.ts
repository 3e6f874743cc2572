import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Authority, Certificate } from './certificate.ts';
import { PROCESS_NAMES, type ProcessesConfig } from './processes.ts';

const PROGRAMS = [...PROCESS_NAMES, 'crs'] as const;
type Program = (typeof PROGRAMS)[number];
const PEER_DOMAIN = 'crs.tests.call-research';

/** The certificate of each program of an installation, each in its own directory, as each pod mounts its program's Secret. */
export class ProgramCertificates {
  readonly #directory = mkdtempSync(join(tmpdir(), 'crs-certificates-'));

  /** Issues certificates of the CA, which all programs trust. */
  constructor(authority: Authority) {
    for (const program of PROGRAMS) mkdirSync(this.directoryOf(program));
    this.trust(authority);
    this.issue(authority);
  }

  /** The `CRS_TLS_DIR` of a program. */
  directoryOf(program: Program): string {
    return join(this.#directory, program);
  }

  /** Returns the settings of TLS for each program: it presents its own certificate, and admits other programs by name. */
  settings(): NonNullable<ProcessesConfig['environments']> {
    const of = (program: Program) => ({ CRS_TLS_DIR: this.directoryOf(program), CRS_TLS_PEER_DOMAIN: PEER_DOMAIN });
    return Object.fromEntries(PROCESS_NAMES.map((program) => [program, of(program)]));
  }

  /** Replaces the CAs that the programs trust. */
  trust(...authorities: Authority[]): void {
    for (const program of PROGRAMS) this.#write(program, 'ca.crt', authorities.map(({ cert }) => cert).join(''));
  }

  /** Replaces each program's certificate. */
  issue(authority: Authority): void {
    for (const program of PROGRAMS) {
      const { cert, key } = authority.issue(`${program}.${PEER_DOMAIN}`, 'localhost', `${program}.crs.test`);
      this.#write(program, 'tls.crt', cert);
      this.#write(program, 'tls.key', key);
    }
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true });
  }

  #write(program: Program, file: string, content: string): void {
    writeFileSync(join(this.directoryOf(program), file), content);
  }
}

/** Writes a `CRS_TLS_DIR` with one certificate, whose CA it trusts. */
export function certificateDirectory({ cert, key }: Certificate, trusted: Authority): { directory: string; remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'crs-tls-'));
  const files = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': trusted.cert };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  return { directory, remove: () => rmSync(directory, { recursive: true }) };
}
