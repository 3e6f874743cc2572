import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dnsName, hostPort, readEnvironment, type Environment } from '@crs/kit/process/config';
import { createLogger } from '@crs/kit/process/log';
import { Tls } from '@crs/kit/process/tls';
import { z } from 'zod';
import { Failure } from './failure.ts';
import { readLine } from './prompt.ts';

/** Services with an admin listener. */
export const SERVICES = ['auth', 'projects', 'calls', 'entities'] as const;
export type Service = (typeof SERVICES)[number];

/** Services without an admin listener. `crs status` calls their health listeners. */
export const UNMANAGED = ['api-gateway', 'tool-gateway', 'rate-limit'] as const;
export type Unmanaged = (typeof UNMANAGED)[number];

export interface Config {
  /** `host:port` of each service's admin listener. */
  addresses: Record<Service, string> & {
    /** Absent: the installation sends no webhooks. */
    webhooks?: string | undefined;
  };
  /** `host:port` of each known health listener. */
  health?: Partial<Record<Unmanaged, string>> | undefined;
  /** The operator credential, `cro_...`. */
  credential: string;
  /** Absent: plaintext. */
  tls?: Tls | undefined;
  /** The prefix of the services' names in certificates, as in `crs-call-research-auth`. Absent: the addresses have these names. */
  serverPrefix?: string | undefined;
}

const settings = z.object({
  CRS_AUTH_ADMIN_ADDRESS: hostPort.optional(),
  CRS_PROJECTS_ADMIN_ADDRESS: hostPort.optional(),
  CRS_CALLS_ADMIN_ADDRESS: hostPort.optional(),
  CRS_ENTITIES_ADMIN_ADDRESS: hostPort.optional(),
  CRS_WEBHOOKS_ADMIN_ADDRESS: hostPort.optional(),
  CRS_API_GATEWAY_HEALTH_ADDRESS: hostPort.optional(),
  CRS_TOOL_GATEWAY_HEALTH_ADDRESS: hostPort.optional(),
  CRS_RATE_LIMIT_HEALTH_ADDRESS: hostPort.optional(),
  CRS_OPERATOR_FILE: z.string().optional(),
  CRS_OPERATOR_CREDENTIAL: z.string().optional(),
  CRS_DATA_DIR: z.string().default('.local'),
  CRS_TLS_DIR: z.string().optional(),
  CRS_TLS_SERVER_PREFIX: dnsName.optional(),
});

const credentialFile = z.object({ credential: z.string().min(1) });
const addressFile = z.object({
  auth: hostPort,
  projects: hostPort,
  calls: hostPort,
  entities: hostPort,
  webhooks: hostPort.optional(),
  health: z.object({ 'api-gateway': hostPort, 'tool-gateway': hostPort, 'rate-limit': hostPort }).optional(),
});

/**
 * Reads the services' addresses and the operator's credential. Each setting comes from the environment, or else from the files of
 * `npm start` in its data directory: `admin.json` with the addresses, `operator.json` with the credential.
 * @throws Failure that names the missing settings and the next step
 */
export async function loadConfig(environment: Environment): Promise<Config> {
  const env = await orNotConfigured(() => readEnvironment(settings, environment));
  const isComplete = SERVICES.every((service) => env[adminSetting(service)]);
  const local = isComplete ? undefined : await readJson(join(env.CRS_DATA_DIR, 'admin.json'), addressFile);
  const addresses = Object.fromEntries(SERVICES.map((service) => [service, env[adminSetting(service)] ?? local?.[service]]));
  const webhooks = env.CRS_WEBHOOKS_ADMIN_ADDRESS ?? local?.webhooks;
  const health = {
    'api-gateway': env.CRS_API_GATEWAY_HEALTH_ADDRESS ?? local?.health?.['api-gateway'],
    'tool-gateway': env.CRS_TOOL_GATEWAY_HEALTH_ADDRESS ?? local?.health?.['tool-gateway'],
    'rate-limit': env.CRS_RATE_LIMIT_HEALTH_ADDRESS ?? local?.health?.['rate-limit'],
  };
  const credential = await loadCredential(env);

  const missing: string[] = SERVICES.filter((service) => !addresses[service]).map(adminSetting);
  if (!credential) missing.push('CRS_OPERATOR_FILE');
  if (missing.length > 0) {
    throw new Failure(
      'not_configured',
      `There is no local installation in ${env.CRS_DATA_DIR}: start one with \`npm start\` (CRS_DATA_DIR names another directory), ` +
        `or set ${missing.join(', ')} to use another installation.`,
    );
  }
  const { CRS_TLS_DIR: tlsDirectory, CRS_TLS_SERVER_PREFIX: serverPrefix } = env;
  const tls = tlsDirectory && (await orNotConfigured(() => Tls.open(tlsDirectory, createLogger('crs', { level: 'silent' }))));
  return {
    addresses: { ...(addresses as Config['addresses']), webhooks },
    health,
    credential: credential!,
    tls: tls || undefined,
    serverPrefix,
  };
}

/** Returns the TLS settings of a client of a service's admin listener. */
export function tlsOf({ tls, serverPrefix }: Pick<Config, 'tls' | 'serverPrefix'>, service: Service | 'webhooks') {
  return { tls, serverName: serverPrefix && `${serverPrefix}-${service}` };
}

function adminSetting(service: Service) {
  return `CRS_${service.toUpperCase() as Uppercase<Service>}_ADMIN_ADDRESS` as const;
}

async function orNotConfigured<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new Failure('not_configured', (error as Error).message.replaceAll(/\n\s*/g, ' '));
  }
}

async function loadCredential(env: z.infer<typeof settings>): Promise<string | undefined> {
  if (env.CRS_OPERATOR_CREDENTIAL) return env.CRS_OPERATOR_CREDENTIAL;
  const file = await readJson(env.CRS_OPERATOR_FILE ?? join(env.CRS_DATA_DIR, 'operator.json'), credentialFile);
  if (!file && env.CRS_OPERATOR_FILE)
    throw new Failure('not_configured', `CRS_OPERATOR_FILE: ${env.CRS_OPERATOR_FILE} does not exist.`);
  return file?.credential;
}

/** Reads the operator's credential from the first line of standard input: `cro_...`, or the content of a credential file. */
export async function readCredential(): Promise<string> {
  const line = (await readLine(process.stdin)).trim();
  if (!line.startsWith('{')) {
    if (line !== '') return line;
    throw new Failure('not_configured', 'There is no operator credential on the first line of standard input.');
  }
  return parseJson(line, credentialFile, 'The first line of standard input is not valid.').credential;
}

/** Reads a file. @returns undefined if the file doesn't exist */
async function readJson<S extends z.ZodType>(path: string, schema: S): Promise<z.infer<S> | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new Failure('not_configured', `${path} can't be read (${code}).`, error);
  }
  return parseJson(text, schema, `${path} is not valid. \`npm start\` writes a new one.`);
}

function parseJson<S extends z.ZodType>(text: string, schema: S, problem: string): z.infer<S> {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    // Without the cause, which could quote the credential.
    throw new Failure('not_configured', problem);
  }
}
