import { postgresUrl, readEnvironment } from '@crs/kit/process/config';
import { createLogger } from '@crs/kit/process/log';
import { z } from 'zod';
import { directorySecrets } from './directory.ts';
import { Failure } from './failure.ts';
import { install } from './install.ts';
import { findCluster, kubernetesSecrets } from './kubernetes.ts';
import type { SecretStore } from './secrets.ts';

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
  CRS_SERVICE_DATABASE_URL: postgresUrl.optional(),
  /** Directory of secrets as files. Absent: the secrets are in Kubernetes. */
  CRS_SECRET_DIR: z.string().optional(),
  CRS_SECRET_PREFIX: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be a valid beginning of names in Kubernetes')
    .optional(),
  CRS_SECRET_LABELS: labels.default({}),
  CRS_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

function readSettings(): z.infer<typeof settings> {
  try {
    return readEnvironment(settings, process.env);
  } catch (error) {
    throw new Failure((error as Error).message.replaceAll(/\s+/g, ' '));
  }
}

async function openStore(env: z.infer<typeof settings>): Promise<SecretStore> {
  if (env.CRS_SECRET_DIR !== undefined) return directorySecrets(env.CRS_SECRET_DIR);
  const { CRS_SECRET_PREFIX: prefix } = env;
  if (prefix === undefined) throw new Failure("The configuration can't be used: CRS_SECRET_PREFIX: is required");
  return kubernetesSecrets(await findCluster(process.env), prefix, env.CRS_SECRET_LABELS);
}

const log = createLogger('install');
try {
  const env = readSettings();
  log.level = env.CRS_LOG_LEVEL;
  const database = { adminUrl: env.MIGRATE_DATABASE_URL, serviceUrl: env.CRS_SERVICE_DATABASE_URL };
  await install(database, await openStore(env), log);
  log.info('done');
} catch (error) {
  if (error instanceof Failure) log.fatal(error.message);
  else log.fatal({ err: error }, 'the installation failed');
  process.exitCode = 1;
}
