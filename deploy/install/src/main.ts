import { dnsName, manageRoles, passwordFile, postgresUrl, trustedCertificateFiles } from '@crs/kit/process/config';
import { TrustedCertificates } from '@crs/kit/process/trusted-certificates';
import { z } from 'zod';
import { maintainCertificates } from './certificates.ts';
import { directorySecrets } from './directory.ts';
import { Failure } from './failure.ts';
import { install, type Installation, type Server } from './install.ts';
import { findCluster, kubernetesSecrets } from './kubernetes.ts';
import { logLevel, componentNames, prefix, runProgram } from './program.ts';

/** Reads labels or annotations of Secrets. */
const jsonObject = z.string().transform((json, context) => {
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(json));
  } catch {
    context.addIssue('must be a JSON object of strings');
    return z.NEVER;
  }
});

const settings = z.object({
  MIGRATE_DATABASE_URL: postgresUrl,
  /** The password for all `MIGRATE_DATABASE_URL...`, instead of passwords in the URLs. */
  CRS_DATABASE_PASSWORD_FILE: passwordFile,
  CRS_MANAGE_ROLES: manageRoles,
  CRS_SERVICE_DATABASE_URL: postgresUrl.optional(),
  /** Separate servers for the schemas of these services. */
  MIGRATE_DATABASE_URL_PROJECTS: postgresUrl.optional(),
  MIGRATE_DATABASE_URL_CALLS: postgresUrl.optional(),
  MIGRATE_DATABASE_URL_ENTITIES: postgresUrl.optional(),
  CRS_SERVICE_DATABASE_URL_PROJECTS: postgresUrl.optional(),
  CRS_SERVICE_DATABASE_URL_CALLS: postgresUrl.optional(),
  CRS_SERVICE_DATABASE_URL_ENTITIES: postgresUrl.optional(),
  /** Directory of secrets as files. Absent: the secrets are in Kubernetes. */
  CRS_SECRET_DIR: z.string().optional(),
  CRS_SECRET_PREFIX: prefix.optional(),
  CRS_SECRET_LABELS: jsonObject.default({}),
  CRS_SECRET_ANNOTATIONS: jsonObject.default({}),
  /** The components that get a certificate, in Kubernetes only. Absent: none. */
  CRS_CERTIFICATES: componentNames.optional(),
  /** The suffix of the clients' names in certificates; required with CRS_CERTIFICATES. */
  CRS_TLS_PEER_DOMAIN: dnsName.optional(),
  CRS_TRUSTED_CERTIFICATES: trustedCertificateFiles,
  CRS_LOG_LEVEL: logLevel,
});

await runProgram('install', settings, async (env, log) => {
  // Read once: the program ends before they are renewed.
  if (env.CRS_TRUSTED_CERTIFICATES.length > 0) (await TrustedCertificates.open(env.CRS_TRUSTED_CERTIFICATES, log)).close();
  const adminPasswordFile = env.CRS_DATABASE_PASSWORD_FILE;
  const server = (adminUrl: string, serviceUrl?: string): Server => ({ adminUrl, adminPasswordFile, serviceUrl });
  const serverApart = (owner: 'PROJECTS' | 'CALLS' | 'ENTITIES') => {
    const adminUrl = env[`MIGRATE_DATABASE_URL_${owner}`];
    return adminUrl === undefined ? undefined : server(adminUrl, env[`CRS_SERVICE_DATABASE_URL_${owner}`]);
  };
  const database: Installation = {
    ...server(env.MIGRATE_DATABASE_URL, env.CRS_SERVICE_DATABASE_URL),
    manageRoles: env.CRS_MANAGE_ROLES,
    apart: { projects: serverApart('PROJECTS'), calls: serverApart('CALLS'), entities: serverApart('ENTITIES') },
  };
  if (env.CRS_SECRET_DIR !== undefined) return install(database, directorySecrets(env.CRS_SECRET_DIR), log);
  const { CRS_SECRET_PREFIX: named, CRS_CERTIFICATES: names, CRS_TLS_PEER_DOMAIN: peerDomain } = env;
  if (named === undefined) throw new Failure("The configuration can't be used: CRS_SECRET_PREFIX: is required");
  if (names && peerDomain === undefined)
    throw new Failure("The configuration can't be used: CRS_TLS_PEER_DOMAIN: is required with CRS_CERTIFICATES");
  const cluster = await findCluster(process.env);
  const metadata = { labels: env.CRS_SECRET_LABELS, annotations: env.CRS_SECRET_ANNOTATIONS };
  const store = kubernetesSecrets(cluster, named, metadata);
  await install(database, store, log);
  if (names && peerDomain !== undefined)
    await maintainCertificates(store, { names, prefix: named, namespace: cluster.namespace, peerDomain }, log);
});
