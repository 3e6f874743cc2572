import { randomBytes } from 'node:crypto';
import type { Logger } from '@crs/kit/process/log';
import { roleOf, serviceUrl } from '@crs/kit/data/migration';
import { createOperatorCredential } from '@crs/kit/operator-credential';
import { parseSecrets } from '@crs/kit/process/secrets';
import { z } from 'zod';
import { Failure } from './failure.ts';
import { OWNERS, type Login, type Operator, type Owner } from './prepare-database.ts';

export type SecretData = Record<string, string>;

/** A store of secrets. */
export interface SecretStore {
  /** Names a secret in messages. */
  describe(name: string): string;
  /** @returns undefined if it doesn't exist */
  read(name: string): Promise<SecretData | undefined>;
  /** @param type the type of the Secret, in Kubernetes @returns false if it already exists */
  create(name: string, data: SecretData, type?: string): Promise<boolean>;
}

export interface Secrets {
  logins: Record<Owner, Login>;
  operator: Operator;
  webhooksCredential: string;
}

const operatorFile = z.object({ name: z.string().min(1), credential: z.string().min(1) });

/**
 * Reads the secrets of an installation, and creates missing ones. Never changes existing ones.
 * @param urlOf the URL of a service's database; role and password are replaced
 * @param mayMake throws if the role of a service must not get a new password, or can't
 * @throws Failure that names the secret that can't be used
 */
export async function ensureSecrets(
  store: SecretStore,
  { urlOf, mayMake }: { urlOf: (owner: Owner) => string; mayMake?: (owner: Owner) => Promise<void> },
  log: Logger,
): Promise<Secrets> {
  const secret = () => randomBytes(32).toString('base64url');
  const secretWithId = () => `k1:${secret()}`;
  const ensure = async (name: string, create: () => SecretData | Promise<SecretData>, keys: string[]) => {
    let data = await store.read(name);
    if (!data) {
      const made = await create();
      if (await store.create(name, made)) {
        log.info({ secret: name }, 'made');
        return made;
      }
      // A concurrent installation has created it.
      data = await store.read(name);
    }
    const missing = keys.find((key) => !data?.[key]);
    if (!data || missing !== undefined) throw new Failure(`${store.describe(name)} has no ${missing ?? 'content'}.`);
    if (data['CRS_SECRET'] !== undefined) checkSecrets(data['CRS_SECRET'], store.describe(name));
    return data;
  };

  const logins = {} as Secrets['logins'];
  let webhooksCredential = '';
  for (const owner of OWNERS) {
    const create = async () => {
      await mayMake?.(owner);
      return {
        DATABASE_URL: serviceUrl(urlOf(owner), owner, secret()),
        ...(hasSecret(owner) && { CRS_SECRET: secretWithId() }),
        ...(owner === 'webhooks' && { CRS_PROGRAM_CREDENTIAL: secret() }),
      };
    };
    const keys = [
      'DATABASE_URL',
      ...(hasSecret(owner) ? ['CRS_SECRET'] : []),
      ...(owner === 'webhooks' ? ['CRS_PROGRAM_CREDENTIAL'] : []),
    ];
    const data = await ensure(owner, create, keys);
    webhooksCredential ||= data['CRS_PROGRAM_CREDENTIAL'] ?? '';
    const url = URL.parse(data['DATABASE_URL']!);
    const role = roleOf(owner);
    // Each service has two roles that alternate, so that a password can be changed while the other role's is still valid.
    if (!url || ![role, `${role}_b`].includes(url.username)) {
      throw new Failure(`DATABASE_URL in ${store.describe(owner)} must be a URL for the role ${role} or ${role}_b.`);
    }
    const expected = new URL(urlOf(owner));
    if (url.host !== expected.host || url.pathname !== expected.pathname) {
      log.warn({ secret: owner, has: url.host + url.pathname, expected: expected.host + expected.pathname }, 'another database');
    }
    logins[owner] = { role: url.username, password: url.password === '' ? undefined : decodeURIComponent(url.password) };
  }
  await ensure('tool-gateway', () => ({ CRS_SECRET: secretWithId() }), ['CRS_SECRET']);

  const data = await ensure('operator', () => ({ 'operator.json': JSON.stringify(newOperator()) }), ['operator.json']);
  const operator = operatorFile.safeParse(parse(data['operator.json']!));
  if (!operator.success) throw new Failure(`operator.json in ${store.describe('operator')} must hold a name and a credential.`);
  return { logins, operator: operator.data, webhooksCredential };
}

/** Whether a service encrypts what it stores. */
function hasSecret(owner: Owner): boolean {
  return owner === 'auth' || owner === 'webhooks';
}

/** Services would not start with an invalid list. */
function checkSecrets(text: string, where: string): void {
  try {
    parseSecrets(text);
  } catch (error) {
    throw new Failure(`CRS_SECRET in ${where} ${(error as Error).message}.`);
  }
}

/** Returns an operator with a random name: if the secret was lost, the database still has its operator. */
function newOperator(): Operator {
  return { name: `install-${randomBytes(4).toString('hex')}`, credential: createOperatorCredential() };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
