import { randomBytes } from 'node:crypto';
import { createOperatorCredential } from '@crs/auth/operator-credential';
import type { Logger } from '@crs/kit/process/log';
import { roleOf, serviceUrl } from '@crs/kit/data/migration';
import { z } from 'zod';
import { Failure } from './failure.ts';
import { OWNERS, type Operator, type Owner } from './prepare-database.ts';

export type SecretData = Record<string, string>;

/** A place for secrets. */
export interface SecretStore {
  /** Names a secret in messages. */
  describe(name: string): string;
  /** @returns undefined if it doesn't exist */
  read(name: string): Promise<SecretData | undefined>;
  /** @returns false if it already exists */
  create(name: string, data: SecretData): Promise<boolean>;
}

export interface Secrets {
  /** Password of each owner's role; undefined if its URL has none. */
  passwords: Record<Owner, string | undefined>;
  operator: Operator;
}

const operatorFile = z.object({ name: z.string().min(1), credential: z.string().min(1) });

/**
 * Reads the secrets of an installation, and creates missing ones. Existing secrets stay as they are.
 * @param baseUrl the services' URL of the database; role and password are replaced
 * @throws Failure that names the secret that can't be used
 */
export async function ensureSecrets(store: SecretStore, baseUrl: string, log: Logger): Promise<Secrets> {
  const secret = () => randomBytes(32).toString('base64url');
  const ensure = async (name: string, create: () => SecretData, keys: string[]) => {
    let data = await store.read(name);
    if (!data) {
      const made = create();
      if (await store.create(name, made)) {
        log.info({ secret: name }, 'made');
        return made;
      }
      // Another installation was faster: its secret counts.
      data = await store.read(name);
    }
    const missing = keys.find((key) => !data?.[key]);
    if (!data || missing !== undefined) throw new Failure(`${store.describe(name)} has no ${missing ?? 'content'}.`);
    return data;
  };

  const passwords = {} as Secrets['passwords'];
  for (const owner of OWNERS) {
    const create = () => ({
      DATABASE_URL: serviceUrl(baseUrl, owner, secret()),
      ...(owner === 'auth' && { CRS_SECRET: secret() }),
    });
    const data = await ensure(owner, create, owner === 'auth' ? ['DATABASE_URL', 'CRS_SECRET'] : ['DATABASE_URL']);
    const url = URL.parse(data['DATABASE_URL']!);
    const role = roleOf(owner);
    if (url?.username !== role) {
      throw new Failure(`DATABASE_URL in ${store.describe(owner)} must be a URL for the role ${role}.`);
    }
    const expected = new URL(baseUrl);
    if (url.host !== expected.host || url.pathname !== expected.pathname) {
      log.warn({ secret: owner, has: url.host + url.pathname, expected: expected.host + expected.pathname }, 'another database');
    }
    passwords[owner] = url.password === '' ? undefined : decodeURIComponent(url.password);
  }
  await ensure('tool-gateway', () => ({ CRS_SECRET: secret() }), ['CRS_SECRET']);

  const data = await ensure('operator', () => ({ 'operator.json': JSON.stringify(newOperator()) }), ['operator.json']);
  const operator = operatorFile.safeParse(parse(data['operator.json']!));
  if (!operator.success) throw new Failure(`operator.json in ${store.describe('operator')} must hold a name and a credential.`);
  return { passwords, operator: operator.data };
}

/** Makes an operator with a new name, since the database still has the operator of a lost secret. */
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
