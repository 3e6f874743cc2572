/** Records, test environments and clients that the test files of auth share. */
import { Client } from 'pg';
import { expect, inject } from 'vitest';
import { Database } from '@crs/kit/data/database';
import { KEY_RIGHTS } from '@crs/kit/rpc/key-rights';
import { client, type CallOptions, type ServiceClient } from '@crs/kit/rpc/client';
import { createLogger } from '@crs/kit/process/log';
import { parseSecrets } from '@crs/kit/process/secrets';
import { derivePassword, roleOf } from '@crs/kit/data/migration';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { SECRET } from '@crs/testing/setup';
import { sharedWorld, startWorld, type OwnWorld, type World } from '@crs/testing/world';
import { KeyRing } from '../src/keys/key-ring.ts';
import { createEncrypters } from '../src/keys/encrypters.ts';
import { Signer } from '../src/keys/signer.ts';

/** Two organizations with the same people and the same projects, so that a mix-up between them shows. */
export const TENANTS = ['acme', 'globex'] as const;
export const ANN = 'ann@example.com';
export const BOB = 'bob@example.com';
export const ALPHA = '00000000-0000-4000-8000-00000000000a';
export const BETA = '00000000-0000-4000-8000-00000000000b';

/** The rights of a new operator: an admin of all organizations, without an expiry. */
export const ADMIN = { role: '', organizationIds: [] as string[], expiresInSeconds: 0 };

export const organization = (id: string, settings: object = {}) => ({ type: 'organization', id, name: `The ${id}`, ...settings });
export const user = (tenant: string, email: string, more: object = {}) => ({
  type: 'user',
  organization: tenant,
  email,
  name: `${email} of ${tenant}`,
  ...more,
});
export const project = (tenant: string, id: string, more: object = {}) => ({
  type: 'project',
  organization: tenant,
  id,
  ...more,
});

/** Each organization has Ann, Bob and two projects that nobody sees. */
export const peopleAndProjects = (tenants: readonly string[]) =>
  tenants.flatMap((tenant) => [
    organization(tenant),
    user(tenant, ANN),
    user(tenant, BOB),
    project(tenant, ALPHA),
    project(tenant, BETA),
  ]);
export const PEOPLE_AND_PROJECTS = peopleAndProjects(TENANTS);

export interface SharedAuthWorld extends World {
  /** The internal listener. */
  auth: ServiceClient<AuthServiceService>;
  /** Signs with the keys of auth. */
  signer: Signer;
  /** Reads rows as a superuser, without row-level security. */
  rows<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Runs the statements in a transaction, starts the work, and commits once `waiters` sessions of the work wait for a lock. */
  meanwhile<T>(statements: string, work: () => Promise<T>, waiters?: number): Promise<T>;
  /** Call options of an operator, for one organization or for none. */
  operate(organization?: string): Promise<CallOptions>;
  asOrganization(organization: string): Promise<CallOptions>;
  asUser(organization: string, email: string): Promise<CallOptions>;
}

/** A test environment of one test file, with its own database. */
export interface AuthWorld extends SharedAuthWorld, OwnWorld {}

let shared: Promise<SharedAuthWorld> | undefined;

/** Imports records into `sharedWorld()`. Their organizations have ids by `tenant()`, and no other test file lists their e-mail domains. */
export async function sharedAuthWorld(records: object[] = []): Promise<SharedAuthWorld> {
  shared ??= sharedWorld().then(async (world) => ({ ...world, ...(await connectToAuth(world)) }));
  const world = await shared;
  if (records.length > 0) await world.load(records);
  return world;
}

export async function startAuthWorld(
  records: object[] = [],
  settings: Parameters<typeof startWorld>[0] = {},
): Promise<AuthWorld> {
  const world = await startWorld(settings);
  const { disconnect, ...connected } = await connectToAuth(world);
  if (records.length > 0) await world.load(records);
  return {
    ...world,
    ...connected,
    close: async () => {
      await disconnect();
      await world.close();
    },
  };
}

/** The part of the test environment that only test files of auth need. */
async function connectToAuth(world: World) {
  const auth = client(AuthServiceService, { name: 'auth', address: world.stack.addresses.auth, timeoutMs: 5_000, retry: false });
  const { signer, close: closeSigner } = await startSigner(world.databaseUrl);
  const rows = async <Row>(text: string, values?: unknown[]) => (await world.query(text, values)).rows as Row[];
  return {
    auth,
    signer,
    rows,
    meanwhile: async <T>(statements: string, work: () => Promise<T>, waiters = 1) => {
      const other = new Client({ connectionString: world.databaseUrl });
      await other.connect();
      try {
        await other.query(`begin; ${statements}`);
        const result = work();
        const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
        await expect.poll(() => rows(waiting)).toHaveLength(waiters);
        await other.query('commit');
        return await result;
      } finally {
        await other.end();
      }
    },
    operate: (id?: string) => world.operator.operator(id),
    asOrganization: async (id: string) => {
      const apiKey = await world.createKey(id, { rights: [...KEY_RIGHTS] });
      const { callerTokens } = await auth.authenticateKey({ apiKey, audiences: ['calls'] });
      // Auth accepts every caller token, because services pass their callers on to it.
      return { token: callerTokens['calls']! };
    },
    asUser: async (id: string, email: string) => {
      const [found] = await rows<{ userId: string }>(
        'select user_id as "userId" from auth.users where organization = $1 and email = $2',
        [id, email],
      );
      const scopes = ['calls:read', 'projects:read', 'entities:read'];
      return { token: await signer.sign({ kind: 'user', organization: id, userId: found!.userId, scopes }, 600) };
    },
    disconnect: async () => {
      auth.close();
      await closeSigner();
    },
  };
}

/** The database URL with the service's role, which row-level security restricts. */
export function serviceUrl(databaseUrl: string, service = 'auth'): string {
  const url = new URL(databaseUrl);
  url.username = roleOf(service);
  url.password = derivePassword(SECRET, service);
  return url.href;
}

/** Starts the signer of another replica. */
export async function startSigner(databaseUrl: string, secret = SECRET): Promise<{ signer: Signer; close: () => Promise<void> }> {
  const log = createLogger('auth', { level: 'silent' });
  const db = new Database({ name: 'auth', url: serviceUrl(databaseUrl), maxConnections: 2, log, pipeline: true });
  const ring = new KeyRing('caller_key', db, createEncrypters(parseSecrets(secret)), log);
  // Auth also loads its keys before it serves.
  await ring.keys().catch(() => {});
  const signer = new Signer(ring);
  return {
    signer,
    close: () => db.close(),
  };
}

/** A database with every schema and no row. */
export function emptyDatabase(): Promise<TestDatabase> {
  return createDatabase(inject('postgresUrl'), inject('template'));
}

export async function query<Row = Record<string, unknown>>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const connection = new Client({ connectionString: url });
  await connection.connect();
  try {
    return (await connection.query(text, values)).rows as Row[];
  } finally {
    await connection.end();
  }
}

/** The fields of a failed call that tests compare; undefined if the call succeeds. */
export function failureOf(
  call: Promise<unknown>,
): Promise<{ kind: string; reason: string; message: string; field?: string } | undefined> {
  return call.then(
    () => undefined,
    ({ kind, reason, message, field }) => ({ kind, reason, message, ...(field !== undefined && { field }) }),
  );
}
