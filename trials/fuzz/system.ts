/** Starts the system as processes. Its organizations hold records with the same ids. Returns their credentials, too. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Connection } from '@crs/crs/connection';
import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { startProcesses } from '@crs/testing/processes';
import { startRedis } from '@crs/testing/redis';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import type { Credential } from './request.ts';
import { WITH_TURNS, type Measured } from './loop-time.ts';
import { EMAILS, recordsOf, SECRET_MARK } from './records.ts';

export interface FuzzSystem extends Measured {
  /** `host:port`. */
  api: string;
  tools: string;
  /** The limit for requests without a usable credential. */
  addressLimit: number;
  keys: Credential[];
  users: Credential[];
  operator: Connection;
  stop(): Promise<void>;
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

/** @param databaseUrl a database with every schema, as superuser */
export async function startFuzzSystem(databaseUrl: string): Promise<FuzzSystem> {
  const redis = await startRedis();
  const probes = await mkdtemp(join(tmpdir(), 'crs-probes-'));
  const processes = await startProcesses({
    databaseUrl,
    secret: SECRET,
    redisUrl: redis?.url,
    environment: {
      CRS_ADDRESS_RATE_LIMIT: `${ADDRESS_LIMIT}/3600`,
      CRS_SIGN_IN_RATE_LIMIT: '900000005/3600',
      CRS_TEST_PROBES: probes,
    },
    execArgv: () => WITH_TURNS,
  });
  const operator = connect({ addresses: processes.admin, credential: OPERATOR_CREDENTIAL });
  const stop = async () => {
    operator.close();
    await processes.stop();
    await redis?.stop();
    await rm(probes, { recursive: true, force: true });
  };
  try {
    await load(
      operator,
      ORGANIZATIONS.flatMap((organization) => recordsOf(organization)),
    );
    const ids = ORGANIZATIONS.map(({ id }) => id);
    const foreignTo = (id: string) => ids.filter((other) => other !== id).map((other) => `mark-${other}`);
    const key = async (id: string, readOnly = false): Promise<Credential> => {
      const organization = ORGANIZATIONS.find((each) => each.id === id)!;
      const secret = await createKey(operator, id, { readOnly });
      const writes = organization.write_surface !== true ? 'none' : readOnly ? 'reads' : 'all';
      return { ...credentialOf(organization, secret), name: `${id}${readOnly ? ' (reads)' : ''}`, writes };
    };
    const user = async (id: string, email: string, scopes: string[]): Promise<Credential> => {
      const organization = ORGANIZATIONS.find((each) => each.id === id)!;
      const token = await createToken(operator, id, email, { scopes, expiresInSeconds: 86_400 });
      const credential = credentialOf(organization, token);
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
      pids: processes.pids,
      probes,
      operator,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
