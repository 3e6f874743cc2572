import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import type { ServiceError } from '@crs/kit/errors';
import { client } from '@crs/kit/rpc/client';
import { startHealth, type HealthListener } from '@crs/kit/process/health';
import { migrate } from '@crs/kit/data/migrate';
import { derivePassword, type Migration } from '@crs/kit/data/migration';
import { INHERITED } from '@crs/testing/inherited';
import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { freePorts } from '@crs/testing/ports';
import { programOf } from '@crs/testing/programs';
import { startRelay } from '@crs/testing/relay';
import { SECRET } from '@crs/testing/setup';
import { openSession } from '@crs/testing/sql';
import { migrations } from '../migrations/index.ts';

const MAIN = programOf('calls');
const password = derivePassword(SECRET, 'calls');

let database: TestDatabase;
/** Stands for auth, to which the service connects before it is ready. */
let auth: HealthListener;
let processes: { stop(): Promise<number | null> }[] = [];
beforeEach(async () => {
  database = await createDatabase(inject('postgresUrl'));
  auth = await startHealth('127.0.0.1:0');
});
afterEach(async () => {
  for (const running of processes.splice(0)) await running.stop();
  auth.stop();
  await database.drop();
});

const up = (list: Migration[]) => migrate({ adminUrl: database.url, service: 'calls', migrations: list, password });

/** The method `grpc.health.v1.Health/Check`, which returns the status of a named service. */
const Health = {
  check: {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: (name: string) => Buffer.concat([Buffer.of(0x0a, name.length), Buffer.from(name)]),
    requestDeserialize: String,
    responseSerialize: () => Buffer.alloc(0),
    responseDeserialize: (bytes: Buffer) => ['UNKNOWN', 'SERVING', 'NOT_SERVING'][bytes[1] ?? 0]!,
  },
};

/** Starts the service as a process. @returns the probes that a kubelet would send */
async function start(databaseUrl = database.url) {
  const [grpc, admin, ops, health] = (await freePorts(4)).map((port) => `127.0.0.1:${port}`) as [string, string, string, string];
  const url = new URL(databaseUrl);
  url.username = 'crs_calls';
  url.password = password;
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ...INHERITED,
      CRS_LISTEN: grpc,
      CRS_ADMIN_LISTEN: admin,
      CRS_OPS_LISTEN: ops,
      CRS_HEALTH_LISTEN: health,
      CRS_AUTH_ADDRESS: auth.address,
      DATABASE_URL: url.href,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const logLines: string[] = [];
  createInterface(child.stderr).on('line', (line) => logLines.push(line));
  const probes = client(Health, { name: 'health', address: health, timeoutMs: 2_000, retry: false });
  const probe = (service: string) => probes.check(service).catch((error: ServiceError) => error.kind);
  const stop = async () => {
    probes.close();
    child.kill('SIGTERM');
    return (await exited)[0];
  };
  processes.push({ stop });
  const ended = exited.then(([code]) => Promise.reject(new Error(`the service ended with ${code}:\n${logLines.join('\n')}`)));
  await Promise.race([ended, expect.poll(() => probe('liveness'), { timeout: 50_000 }).toBe('SERVING')]);
  return {
    probe,
    stop,
    /** The status of the HTTP probe. */
    readyz: async () => (await fetch(`http://${ops}/readyz`)).status,
    loggedReasons: () => logLines.flatMap((line) => (/waiting/.test(line) ? [String(JSON.parse(line).reason)] : [])),
  };
}

/** When the service last sent a statement to its database, which is how it checks for its migrations. */
async function lastCheck(): Promise<Date> {
  const session = await openSession(database.url);
  try {
    const [found] = await session.query<{ at: Date }>(
      `select max(query_start) as at from pg_stat_activity where datname = current_database() and usename = 'crs_calls'`,
    );
    return found!.at;
  } finally {
    await session.close();
  }
}

const soon = { timeout: 20_000, interval: 100 };

it('a service is not ready until its database is up and has its schema or a newer one, and logs each reason once', async () => {
  const relay = await startRelay(new URL(database.url).host);
  await relay.close();
  const through = new URL(database.url);
  through.host = relay.address;
  const service = await start(through.href);
  expect(await service.probe('readiness')).toBe('NOT_SERVING');
  expect(await service.readyz()).toBe(503);
  expect(service.loggedReasons()).toEqual(["it can't be read (ECONNREFUSED)"]);

  await relay.open();
  // 42P01: no such table; 3F000: no such schema.
  await expect.poll(service.loggedReasons, soon).toContainEqual(expect.stringMatching(/^it can't be read \((42P01|3F000)\)$/));

  await up(migrations.slice(0, -1));
  await expect.poll(service.loggedReasons, soon).toContain(`the migration ${migrations.at(-1)!.name} has not run`);
  const check = await lastCheck();
  await expect.poll(lastCheck, soon).not.toEqual(check);
  expect(await service.probe('readiness')).toBe('NOT_SERVING');

  await up([...migrations, { name: '29990101T000000-make-later', up: async () => {}, down: async () => {} }]);
  await expect.poll(() => service.probe('readiness'), soon).toBe('SERVING');
  expect(await service.readyz()).toBe(200);
  expect(new Set(service.loggedReasons()).size).toBe(service.loggedReasons().length);

  // Once ready, the service stays ready without its database.
  await relay.close();
  expect(await service.probe('readiness')).toBe('SERVING');
  expect(await service.stop()).toBe(0);
});

it('a service that waits for its schema can be stopped', async () => {
  const service = await start();
  expect(await service.stop()).toBe(0);
});
