/** Starts the system as processes, with organizations whose records have the same ids. Also returns their credentials. */
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
import { WITH_TURNS } from './loop-time.ts';
import { createRecordKeys } from './record-keys.ts';
import { EMAILS, recordsOf, SECRET_MARK } from './records.ts';

/** A system whose organizations hold records with the same ids, and credentials of theirs. */
export type FuzzSystem = Awaited<ReturnType<typeof fill>>;

const WIDE = '900000000/3600';
const PLENTY = { requests: 900_000_000, period_seconds: 3_600 };
const SCARCE = { requests: 3, period_seconds: 3_600 };

const ORGANIZATIONS = [
  { id: 'alpha', write_surface: true, allowed_fields: ALLOWED_FIELDS, rate_limit: PLENTY, tool_rate_limit: PLENTY },
  { id: 'beta', write_surface: true, anonymize_interviewees: true, rate_limit: PLENTY, tool_rate_limit: PLENTY },
  { id: 'plain', allowed_fields: [], rate_limit: PLENTY, tool_rate_limit: PLENTY },
  { id: 'scarce', write_surface: true, rate_limit: SCARCE, tool_rate_limit: SCARCE },
];

/** Fills an empty system. @param addresses `host:port` of the gateways */
export async function fill(operator: Connection, { api, tools }: { api: string; tools: string }) {
  await load(
    operator,
    ORGANIZATIONS.flatMap((organization) => recordsOf(organization)),
  );
  const ids = ORGANIZATIONS.map(({ id }) => id);
  const user = async (id: string, email: string, scopes: string[]): Promise<Credential> => ({
    name: `${email} of ${id}`,
    header: `Bearer ${await createToken(operator, id, email, { scopes, expiresInSeconds: 86_400 })}`,
    isUsable: true,
    foreign: [
      ...ids.filter((other) => other !== id).map((other) => `mark-${other}`),
      ...(email === EMAILS.ann ? [] : [SECRET_MARK]),
    ],
    scopes: scopes.length > 0 ? scopes : ['calls:read', 'projects:read', 'entities:read'],
    isScarce: id === 'scarce',
  });
  return {
    api,
    tools,
    /** `Authorization` of a key of `alpha`. */
    key: `Bearer ${await createKey(operator, 'alpha')}`,
    /** Keys that write records of other organizations. */
    keys: await createRecordKeys(operator),
    users: await Promise.all([
      ...ids.map((id) => user(id, EMAILS.ann, [])),
      user('alpha', EMAILS.bob, []),
      user('alpha', EMAILS.ann, ['calls:read']),
      user('beta', EMAILS.ann, ['projects:read', 'entities:read']),
    ]),
    operator,
  };
}

/** Starts the system as processes whose event loops can be measured. @param databaseUrl a database with every schema, as superuser */
export async function startFuzzSystem(databaseUrl: string) {
  const redis = await startRedis();
  const probes = await mkdtemp(join(tmpdir(), 'crs-probes-'));
  const processes = await startProcesses({
    databaseUrl,
    secret: SECRET,
    redisUrl: redis?.url,
    environment: {
      CRS_ADDRESS_RATE_LIMIT: WIDE,
      CRS_SIGN_IN_RATE_LIMIT: WIDE,
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
    const filled = await fill(operator, { api: new URL(processes.api).host, tools: processes.tools });
    return { ...filled, pids: processes.pids, probes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
