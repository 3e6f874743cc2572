/** Starts the system as processes. Its organizations hold records with the same ids. Returns their credentials, too. */
import { connect } from '@crs/crs/connection';
import { ALLOWED_FIELDS } from '@crs/kit/product/allowed-fields';
import { loader } from '@crs/testing/load';
import { freePorts } from '@crs/testing/ports';
import { PROCESS_NAMES, startProcesses } from '@crs/testing/processes';
import { startRedis } from '@crs/testing/redis';
import type { Credential } from './request.ts';
import { memoryOf, type Memory } from './memory.ts';
import { EMAILS, recordsOf, SECRET_MARK } from './records.ts';

export interface FuzzSystem {
  /** `host:port`. */
  api: string;
  tools: string;
  /** The limit for requests without a usable credential. */
  addressLimit: number;
  keys: Credential[];
  users: Credential[];
  memory(): Promise<Memory>;
  stop(): Promise<void>;
}

export interface SystemConfig {
  /** A database with every schema, as superuser. */
  databaseUrl: string;
  secret: string;
  operatorCredential: string;
  say: (line: string) => void;
}

/** Each limit is high and different from the others, so that answers tell against which limit a request counted. */
const ADDRESS_LIMIT = 900_000_004;
const limitOf = (n: number) => ({ requests: 900_000_000 + n, period_seconds: 3_600 });
const SCARCE = { requests: 3, period_seconds: 3_600 };

const ORGANIZATIONS = [
  { id: 'alpha', write_surface: true, allowed_fields: ALLOWED_FIELDS, rate_limit: limitOf(1), tool_rate_limit: limitOf(1) },
  { id: 'beta', write_surface: true, anonymize_interviewees: true, rate_limit: limitOf(2), tool_rate_limit: limitOf(2) },
  { id: 'plain', allowed_fields: [], rate_limit: limitOf(3), tool_rate_limit: limitOf(3) },
  { id: 'scarce', write_surface: true, rate_limit: SCARCE, tool_rate_limit: SCARCE },
];

export async function startFuzzSystem({ databaseUrl, secret, operatorCredential, say }: SystemConfig): Promise<FuzzSystem> {
  const redis = await startRedis();
  if (!redis) say('no redis-server on this machine: counters are kept in the rate-limit process');
  const inspectors = new Map(PROCESS_NAMES.map((name) => [name, 0]));
  for (const [i, port] of (await freePorts(PROCESS_NAMES.length)).entries()) inspectors.set(PROCESS_NAMES[i]!, port);
  const processes = await startProcesses({
    databaseUrl,
    secret,
    redisUrl: redis?.url,
    environment: { CRS_ADDRESS_RATE_LIMIT: `${ADDRESS_LIMIT}/3600`, CRS_SIGN_IN_RATE_LIMIT: '900000005/3600' },
    execArgv: (service) => [`--inspect=127.0.0.1:${inspectors.get(service)}`],
  });
  const operator = connect({ addresses: processes.admin, credential: operatorCredential });
  const stop = async () => {
    operator.close();
    await processes.stop();
    await redis?.stop();
  };
  try {
    const { refused } = await loader(operator)(ORGANIZATIONS.flatMap((organization) => recordsOf(organization)));
    if (refused.length > 0) throw new Error(`refused: ${refused.slice(0, 5).join('; ')}`);
    const ids = ORGANIZATIONS.map(({ id }) => id);
    const foreignTo = (id: string) => ids.filter((other) => other !== id).map((other) => `mark-${other}`);
    const key = async (id: string, readOnly = false): Promise<Credential> => {
      const organization = ORGANIZATIONS.find((each) => each.id === id)!;
      const token = await operator.operator(id);
      const created = await operator.auth.createKey({ label: '', readOnly, expiresInSeconds: 0 }, token);
      const writes = organization.write_surface !== true ? 'none' : readOnly ? 'reads' : 'all';
      return { ...credentialOf(organization, created.secret), name: `${id}${readOnly ? ' (reads)' : ''}`, writes };
    };
    const user = async (id: string, email: string, scopes: string[]): Promise<Credential> => {
      const organization = ORGANIZATIONS.find((each) => each.id === id)!;
      const token = await operator.operator(id);
      const created = await operator.auth.createToken({ email, scopes, expiresInSeconds: 86_400 }, token);
      const credential = credentialOf(organization, created.accessToken);
      const hidden = email === EMAILS.ann ? [] : [SECRET_MARK];
      const granted = scopes.length > 0 ? scopes : ['calls:read', 'projects:read', 'entities:read'];
      return { ...credential, name: `${email} of ${id}`, foreign: [...credential.foreign, ...hidden], scopes: granted };
    };
    const credentialOf = ({ id, rate_limit: limit }: (typeof ORGANIZATIONS)[number], secretText: string): Credential => ({
      name: id,
      header: `Bearer ${secretText}`,
      isUsable: true,
      limit: limit.requests,
      foreign: foreignTo(id),
      isScarce: id === 'scarce',
    });
    return {
      api: new URL(processes.api).host,
      tools: processes.tools,
      addressLimit: ADDRESS_LIMIT,
      keys: [...(await Promise.all(ids.map((id) => key(id)))), await key('alpha', true)],
      users: await Promise.all([
        ...ids.map((id) => user(id, EMAILS.ann, [])),
        user('alpha', EMAILS.bob, []),
        user('alpha', EMAILS.ann, ['calls:read']),
        user('beta', EMAILS.ann, ['projects:read', 'entities:read']),
      ]),
      memory: () => memoryOf(inspectors),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
