import { passwordFile, postgresUrl } from '@crs/kit/process/config';
import { z } from 'zod';
import { maintainCertificates } from './certificates.ts';
import { directorySecrets } from './directory.ts';
import { Failure } from './failure.ts';
import { install } from './install.ts';
import { findCluster, kubernetesSecrets } from './kubernetes.ts';
import { logLevel, partNames, prefix, runProgram } from './program.ts';

/** Reads labels of Secrets from a JSON object. */
const labels = z.string().transform((json, context) => {
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(json));
  } catch {
    context.addIssue('must be a JSON object of strings');
    return z.NEVER;
  }
});

const settings = z.object({
  MIGRATE_DATABASE_URL: postgresUrl,
  /** The password of that URL's role, in place of one in the URL. */
  CRS_DATABASE_PASSWORD_FILE: passwordFile,
  CRS_SERVICE_DATABASE_URL: postgresUrl.optional(),
  /** Directory of secrets as files. Absent: the secrets are in Kubernetes. */
  CRS_SECRET_DIR: z.string().optional(),
  CRS_SECRET_PREFIX: prefix.optional(),
  CRS_SECRET_LABELS: labels.default({}),
  /** The parts that get a certificate, in Kubernetes only. Absent: none is made. */
  CRS_CERTIFICATES: partNames.optional(),
  CRS_LOG_LEVEL: logLevel,
});

await runProgram('install', settings, async (env, log) => {
  const database = {
    adminUrl: env.MIGRATE_DATABASE_URL,
    adminPasswordFile: env.CRS_DATABASE_PASSWORD_FILE,
    serviceUrl: env.CRS_SERVICE_DATABASE_URL,
  };
  if (env.CRS_SECRET_DIR !== undefined) return install(database, directorySecrets(env.CRS_SECRET_DIR), log);
  const { CRS_SECRET_PREFIX: named, CRS_CERTIFICATES: names } = env;
  if (named === undefined) throw new Failure("The configuration can't be used: CRS_SECRET_PREFIX: is required");
  const cluster = await findCluster(process.env);
  const store = kubernetesSecrets(cluster, named, env.CRS_SECRET_LABELS);
  await install(database, store, log);
  if (names) await maintainCertificates(store, { names, prefix: named, namespace: cluster.namespace }, log);
});
