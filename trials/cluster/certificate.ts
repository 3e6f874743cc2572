import { createAuthority } from '@crs/testing/certificate';
import { kubectl, NAME, SERVICES } from './cluster.ts';

const authority = createAuthority('scenario');

/** Writes a Secret with a new certificate for all services. Its authority exists only during this run. */
export async function issueCertificate(): Promise<void> {
  const { cert, key } = authority.issue(...SERVICES.map((service) => `${NAME}-${service}`), `${NAME}-crs`);
  const manifest = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'services-tls' },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert },
  };
  await kubectl(['apply', '--filename', '-'], { input: JSON.stringify(manifest), shown: true });
}
