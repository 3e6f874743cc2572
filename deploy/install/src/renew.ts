// Entry point of the renewal CronJob. Renews the certificates that the install Job issued, and replaces their CA, once they are in the last third of
// their lifetime.
import { dnsName } from '@crs/kit/process/config';
import { z } from 'zod';
import { existingOnly, maintainCertificates } from './certificates.ts';
import { findCluster, kubernetesSecrets } from './kubernetes.ts';
import { logLevel, componentNames, prefix, runProgram } from './program.ts';

const settings = z.object({
  CRS_SECRET_PREFIX: prefix,
  CRS_CERTIFICATES: componentNames,
  CRS_TLS_PEER_DOMAIN: dnsName,
  CRS_LOG_LEVEL: logLevel,
});

await runProgram('certificates', settings, async (env, log) => {
  const { CRS_SECRET_PREFIX, CRS_CERTIFICATES: names, CRS_TLS_PEER_DOMAIN: peerDomain } = env;
  const cluster = await findCluster(process.env);
  const store = existingOnly(kubernetesSecrets(cluster, CRS_SECRET_PREFIX, { labels: {}, annotations: {} }));
  const components = { names, prefix: CRS_SECRET_PREFIX, namespace: cluster.namespace, peerDomain };
  await maintainCertificates(store, components, log);
});
