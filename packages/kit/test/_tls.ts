// Creates and opens directories with certificates (`CRS_TLS_DIR`), for the tests of TLS.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Authority, Certificate } from '../../../testing/src/certificate.ts';
import type { Peers } from '../src/process/peers.ts';
import { Tls } from '../src/process/tls.ts';
import { log as silent } from './_service.ts';

/** Writes the files of a `CRS_TLS_DIR`. */
export function write(directory: string, { cert, key }: Certificate, ...trusted: Authority[]): string {
  writeFileSync(join(directory, 'tls.crt'), cert);
  writeFileSync(join(directory, 'tls.key'), key);
  writeFileSync(join(directory, 'ca.crt'), trusted.map((authority) => authority.cert).join(''));
  return directory;
}

/** A `CRS_TLS_DIR` that is deleted when the test ends. */
export function directoryOf(certificate: Certificate, ...trusted: Authority[]): string {
  const directory = mkdtempSync(join(tmpdir(), 'crs-tls-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return write(directory, certificate, ...trusted);
}

export async function open(directory: string, log = silent, peers?: Peers): Promise<Tls> {
  const tls = await Tls.open(directory, log, peers);
  onTestFinished(() => tls.close());
  return tls;
}
