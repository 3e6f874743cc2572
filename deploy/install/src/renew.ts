// Run by a CronJob: renews the certificates that the install Job made, and their authority, as far as that is due.
import { z } from 'zod';
import { existingOnly, maintainCertificates } from './certificates.ts';
import { findCluster, kubernetesSecrets } from './kubernetes.ts';
import { logLevel, partNames, prefix, runProgram } from './program.ts';

const settings = z.object({ CRS_SECRET_PREFIX: prefix, CRS_CERTIFICATES: partNames, CRS_LOG_LEVEL: logLevel });

await runProgram('certificates', settings, async ({ CRS_SECRET_PREFIX, CRS_CERTIFICATES }, log) => {
  const cluster = await findCluster(process.env);
  const store = existingOnly(kubernetesSecrets(cluster, CRS_SECRET_PREFIX, {}));
  const parts = { names: CRS_CERTIFICATES, prefix: CRS_SECRET_PREFIX, namespace: cluster.namespace };
  await maintainCertificates(store, parts, log);
});
