/** The system of the fault trials, whose components can be killed, paused or disconnected. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@crs/crs/connection';
import type { Tls } from '@crs/kit/process/tls';
import { createLogger } from '@crs/kit/process/log';
import { startPostgres, type Postgres } from '@crs/local/postgres';
import { prepareDatabase } from '@crs/local/stack';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { childrenOf } from '@crs/testing/proc';
import { startProcesses, type Processes, type ProcessesConfig, type ProcessName } from '@crs/testing/processes';
import { startRedis, type RedisServer } from '@crs/testing/redis';
import { startRelay, type Relay } from '@crs/testing/relay';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { requestsOf, type RequestData } from './requests.ts';

/** The whole system on its own PostgreSQL and Redis, with one organization and the requests that clients send. */
export type FaultySystem = Awaited<ReturnType<typeof startFaultySystem>>;

/** A component that can be broken. */
export interface Victim {
  kill(): Promise<void>;
  /** Starts it after a kill. Resolves when it is ready. */
  start(): Promise<void>;
  pause(): void;
  resume(): void;
}

export interface SystemOptions {
  /** The services that run; by default all but webhooks. */
  services?: ProcessesConfig['services'];
  replicas?: ProcessesConfig['replicas'];
  /** Whether there are relays between the services, and between them and the database. */
  relays: boolean;
  environment?: Record<string, string>;
  environments?: ProcessesConfig['environments'];
  /** The certificate of `crs`, if the services have certificates. */
  tls?: Tls;
  logs?: ProcessesConfig['logs'];
}

export async function startFaultySystem({
  services,
  replicas,
  relays: withRelays,
  environment,
  environments = {},
  tls,
  logs,
}: SystemOptions) {
  const dataDir = await mkdtemp(join(tmpdir(), 'crs-faults-'));
  await chmod(dataDir, 0o711);
  const log = createLogger('postgres', { level: 'silent' });
  // With fsync, because acknowledged records must survive a kill.
  const start = () => startPostgres({ dataDir, locale: 'C', fsync: true, log });
  let postgres: Postgres = await start();
  let redis: RedisServer | undefined;
  let processes: Processes | undefined;
  const relays = new Map<string, Relay[]>();
  const stop = async () => {
    await processes?.stop();
    for (const relay of [...relays.values()].flat()) await relay.close();
    await redis?.stop();
    await postgres.stop();
    for (const path of [dataDir, postgres.cluster]) await rm(path, { recursive: true, force: true });
  };
  try {
    await prepareDatabase({ adminDatabaseUrl: postgres.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
    redis = await startRedis();
    const settings: Record<string, string> = {
      CRS_ADDRESS_RATE_LIMIT: '1000000/60',
      CRS_SIGN_IN_RATE_LIMIT: '1000000/60',
      ...environment,
    };
    processes = await startProcesses({
      databaseUrl: postgres.url,
      secret: SECRET,
      redisUrl: redis?.url,
      logs,
      environment: settings,
      environments,
      services,
      ...(replicas && { replicas }),
      ...(withRelays && {
        via: async (target, address) => {
          // A service with replicas has a name that only the services can resolve.
          if (address.includes('.crs.test:')) return address;
          const relay = await startRelay(address);
          relays.set(target, [...(relays.get(target) ?? []), relay]);
          return relay.address;
        },
      }),
    });
    const created = new Map<string, string>();
    const requestData: RequestData = { ...(await populate(processes, tls)), onCreated: (id, body) => created.set(id, body) };
    return {
      processes,
      /** The relays before each service and the database, by its name; empty without relays. */
      relays,
      postgres: {
        kill: async () => {
          process.kill(postgres.pid, 'SIGKILL');
          await postgres.stop();
        },
        start: async () => {
          postgres = await start();
          for (const relay of relays.get('postgres') ?? []) relay.retarget(`127.0.0.1:${postgres.port}`);
        },
        pause: () => signalAll(postgres.pid, 'SIGSTOP'),
        resume: () => signalAll(postgres.pid, 'SIGCONT'),
      },
      /** URL of PostgreSQL as superuser, without a relay. Valid until PostgreSQL is killed. */
      databaseUrl: postgres.url,
      /** Undefined if the machine has no Redis. */
      redis: redis && {
        url: redis.url,
        kill: () => redis!.stop(),
        start: async () => {
          redis = await startRedis(redis!.port);
        },
        pause: () => void process.kill(redis!.pid, 'SIGSTOP'),
        resume: () => void process.kill(redis!.pid, 'SIGCONT'),
      },
      requests: requestsOf(requestData),
      requestData,
      /** The settings of every process. Changes take effect at its next start. */
      environment: settings,
      /** Further settings of one service's processes. Changes take effect at their next start. */
      environments,
      /** Bodies of the responses to project creations, by the project's id. */
      created,
      key: requestData.key,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

export type Part = ProcessName | 'postgres' | 'redis';

/** Returns a component as a victim. Undefined for Redis if the machine has none. */
export function victimOf({ processes, postgres, redis }: FaultySystem, part: Part): Victim | undefined {
  if (part === 'postgres') return postgres;
  if (part === 'redis') return redis;
  return {
    kill: () => processes.kill(part),
    start: () => processes.start(part),
    pause: () => processes.pause(part),
    resume: () => processes.resume(part),
  };
}

/** Kills or pauses a component. `fault` is `killed` or `paused`. */
export async function breakPart(part: Victim, fault: string): Promise<void> {
  if (fault === 'killed') await part.kill();
  else part.pause();
}

/** Ends the fault: starts or resumes the component. */
export async function mendPart(part: Victim, fault: string): Promise<void> {
  if (fault === 'killed') await part.start();
  else part.resume();
}

/** Sends a signal to the server and the processes of its connections. */
function signalAll(pid: number, signal: NodeJS.Signals): void {
  for (const each of [pid, ...childrenOf(pid)]) {
    try {
      process.kill(each, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Returns the admin listeners' addresses with these host names, because certificates contain no IP addresses. */
export function adminAt({ admin }: Processes, hostOf: (service: string) => string): Processes['admin'] {
  const named = Object.entries(admin).map(([service, address]) => [service, address.replace(/^[^:]+/, hostOf(service))]);
  return Object.fromEntries(named) as Processes['admin'];
}

const PROJECT = '00000000-0000-4000-8000-00000000000a';
const CALLS = 60;
const HIGH_LIMIT = { requests: 100_000_000, period_seconds: 60 };

async function populate(processes: Processes, tls: Tls | undefined) {
  const operator = connect({ addresses: adminAt(processes, () => 'localhost'), credential: OPERATOR_CREDENTIAL, tls });
  try {
    const organization = 'acme';
    const member = 'ann@acme.example';
    const lead = 'bob@acme.example';
    await load(operator, [
      {
        type: 'organization',
        id: organization,
        name: 'Acme',
        write_surface: true,
        allowed_fields: ['summary', 'source', 'interviewee.name'],
        rate_limit: HIGH_LIMIT,
        tool_rate_limit: HIGH_LIMIT,
      },
      { type: 'billing_office', organization, name: 'London', is_default: true },
      ...[member, lead].map((email) => ({ type: 'user', organization, email, name: email })),
      { type: 'project', organization, id: PROJECT, name: 'Bikes', members: [{ email: member, role: 'lead' }] },
      ...Array.from({ length: CALLS }, (_, n) => ({
        type: 'call',
        organization,
        id: `call-${n}`,
        project_id: PROJECT,
        created_at: new Date(Date.UTC(2025, 2, 1, 0, n)).toISOString(),
        conducted_by: member,
        segment: 'north',
        summary: `Summary ${n}. ${'More was said. '.repeat(20)}`,
        expert: { name: `Expert ${n}` },
      })),
      { type: 'entity', organization, id: PROJECT, project_id: PROJECT, name: 'Velo' },
    ]);
    return {
      key: await createKey(operator, organization),
      token: await createToken(operator, organization, member),
      callId: 'call-7',
      projectId: PROJECT,
      leadEmail: lead,
    };
  } finally {
    operator.close();
  }
}
