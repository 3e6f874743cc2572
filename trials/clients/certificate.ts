import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { selfSigned } from '@crs/testing/certificate';

/** The paths of a private key and its certificate. */
export interface CertificateFiles {
  key: string;
  cert: string;
}

/** Writes a new self-signed certificate for `localhost` into a folder. */
export async function writeCertificate(folder: string): Promise<CertificateFiles> {
  const files = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') };
  const { key, cert } = selfSigned('localhost');
  await Promise.all([writeFile(files.key, key), writeFile(files.cert, cert)]);
  return files;
}
