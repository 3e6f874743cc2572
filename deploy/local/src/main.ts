import { parseArgs } from 'node:util';
import { createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { accessTokenSeconds, oidcAllowHosts } from '@crs/auth/config';
import { createOperatorCredential } from '@crs/kit/operator-credential';
import { ruleSetting } from '@crs/kit/limits/rule';
import { commaSeparated, hostPort, origin, postgresUrl, port, readEnvironment } from '@crs/kit/process/config';
import { Shutdown, runUntilSignal } from '@crs/kit/process/lifecycle';
import { createLogger, type Logger } from '@crs/kit/process/log';
import { trimMemory } from '@crs/kit/process/memory';
import { startHealth } from '@crs/kit/process/health';
import { startOps } from '@crs/kit/process/ops';
import { startTelemetry } from '@crs/kit/process/telemetry-sdk';
import { DataDir, randomSecret } from './data-dir.ts';
import { DEMO_ORGANIZATION, loadDemo, type Demo } from './demo.ts';
import { startPostgres } from './postgres.ts';
import { prepareDatabase, startStack } from './stack.ts';

const USAGE = `npm start [-- --json] [-- --empty]

Runs the whole service on this machine, with a PostgreSQL of its own, and loads a demo organization on the first start.
  --json    prints one line of JSON on standard output when the service is ready
  --empty   loads no demo organization

Settings in the environment, with their defaults:
  CRS_DATA_DIR    directory of the data (.local)
  CRS_API_PORT    port of the REST API (8080)
  CRS_TOOLS_PORT  port of the MCP tools (8081)
  DATABASE_URL    a PostgreSQL server to use instead of its own
  REDIS_URL       a Redis server that counts requests; without it they are counted in memory
`;

const settings = z.object({
  CRS_ACCESS_TOKEN_SECONDS: accessTokenSeconds,
  CRS_ADDRESS_RATE_LIMIT: ruleSetting.optional(),
  CRS_DATA_DIR: z.string().default('.local'),
  CRS_API_PORT: port.default(8080),
  CRS_TOOLS_PORT: port.default(8081),
  CRS_API_URL: origin.optional(),
  CRS_CIMD_ALLOW_HOSTS: z.string().default(''),
  CRS_DEFAULT_ORGANIZATION: z.string().optional(),
  CRS_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  CRS_OIDC_ALLOW_HOSTS: oidcAllowHosts.optional(),
  CRS_WEBHOOK_ALLOW_HOSTS: commaSeparated(hostPort).optional(),
  CRS_TOOLS_URL: origin.optional(),
  DATABASE_URL: postgresUrl.optional(),
  REDIS_URL: z.url({ protocol: /^rediss?$/ }).optional(),
});
type Settings = z.infer<typeof settings>;

interface Options {
  json: boolean;
  empty: boolean;
}

const LOG_FILE = 'call-research.log';

const say = (line: string) => process.stderr.write(`${line}\n`);

function readOptions(): Options {
  const { values } = parseArgs({ options: { json: { type: 'boolean' }, empty: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    process.stderr.write(USAGE);
    process.exit(0);
  }
  return { json: values.json ?? false, empty: values.empty ?? false };
}

/** Creates the service that `npm start` runs: PostgreSQL and all services in one process. */
function createLocal(env: Settings, options: Options, dataDir: DataDir, loggerOf: (service: string) => Logger) {
  const log = loggerOf('local');
  const shutdown = new Shutdown(log);
  const stopping = new AbortController();
  return {
    async start() {
      const telemetry = startTelemetry('call-research', process.env);
      shutdown.defer('telemetry', () => telemetry.stop());
      const secret = await dataDir.readOrCreate('secret.json', () => ({ secret: randomSecret() }));
      const operator = await dataDir.readOrCreate('operator.json', () => ({
        name: 'local',
        credential: createOperatorCredential(),
      }));
      let adminDatabaseUrl = env.DATABASE_URL;
      if (!adminDatabaseUrl) {
        say('Starting PostgreSQL ...');
        const onLost = () => {
          say(`PostgreSQL ended, so the service stops. Its log, ${dataDir.file('postgres/log')}, says why. Start again.`);
          process.exitCode = 1;
          process.kill(process.pid, 'SIGTERM');
        };
        const postgres = await startPostgres({ dataDir: dataDir.path, locale: 'C', fsync: true, log, onLost });
        shutdown.defer('postgres', () => postgres.stop());
        adminDatabaseUrl = postgres.url;
      }
      const config = {
        adminDatabaseUrl,
        redisUrl: env.REDIS_URL,
        secret: secret.secret,
        operatorCredential: operator.credential,
        apiListen: `127.0.0.1:${env.CRS_API_PORT}`,
        toolsListen: `127.0.0.1:${env.CRS_TOOLS_PORT}`,
        toolsUrl: env.CRS_TOOLS_URL ?? `http://127.0.0.1:${env.CRS_TOOLS_PORT}`,
        apiUrl: env.CRS_API_URL,
        defaultOrganization: env.CRS_DEFAULT_ORGANIZATION ?? (options.empty ? undefined : DEMO_ORGANIZATION),
        addressLimit: env.CRS_ADDRESS_RATE_LIMIT,
        accessTokenSeconds: env.CRS_ACCESS_TOKEN_SECONDS,
        oidcAllowHosts: env.CRS_OIDC_ALLOW_HOSTS,
        webhookAllowHosts: env.CRS_WEBHOOK_ALLOW_HOSTS,
        cimdAllowHosts: env.CRS_CIMD_ALLOW_HOSTS.split(',').filter((host) => host !== ''),
      };
      stopping.signal.throwIfAborted();
      say('Preparing the database ...');
      await prepareDatabase(config);
      let ready = false;
      const ops = await startOps('127.0.0.1:0', telemetry, () => ready);
      shutdown.defer('ops', () => ops.stop());
      stopping.signal.throwIfAborted();
      const health = await startHealth('127.0.0.1:0');
      shutdown.defer('health', () => health.stop());
      const { addresses, stop } = await startStack(config, loggerOf);
      shutdown.defer('services', stop);
      await dataDir.write('admin.json', {
        auth: addresses.authAdmin,
        projects: addresses.projectsAdmin,
        calls: addresses.callsAdmin,
        entities: addresses.entitiesAdmin,
        webhooks: addresses.webhooksAdmin,
        // All services run in this process, so one health listener serves both gateways.
        health: { 'api-gateway': health.address, 'tool-gateway': health.address, 'rate-limit': addresses.rateLimit },
      });
      stopping.signal.throwIfAborted();
      if (!options.empty) say('Loading the demo organization (on first start) ...');
      const demo = options.empty ? undefined : await loadDemo(dataDir, stopping.signal);
      trimMemory();
      ready = true;
      health.setReady(true);
      announce(options, config.toolsUrl, addresses.api, ops.address, demo, dataDir);
      return { ...addresses, ops: ops.address };
    },
    stop: () => {
      stopping.abort();
      return shutdown.run();
    },
  };
}

function announce(options: Options, toolsUrl: string, api: string, ops: string, demo: Demo | undefined, dataDir: DataDir): void {
  const rest = `http://${api}/v1`;
  const docs = `http://${api}/docs`;
  const mcp = `${toolsUrl}/mcp`;
  if (options.json) process.stdout.write(`${JSON.stringify({ rest, docs, mcp, issuer: toolsUrl, ...demo })}\n`);
  say(`
The Call Research Service is ready. Ctrl-C stops it.

  REST API   ${rest}
  API docs   ${docs}
  MCP tools  ${mcp}
  Metrics    http://${ops}/metrics
  Log        ${dataDir.file(LOG_FILE)}`);
  if (!demo) {
    say(`
Create an organization and a key:
  npm run -s crs -- org create acme --name Acme
  npm run -s crs -- key create --org acme`);
    return;
  }
  say(`  API key    ${demo.api_key}   (organization ${demo.organization})
  Demo user  ${demo.user.email}, password ${demo.user.password}
  Token      in ${dataDir.file('demo.json')}, for assistants that accept an access token

Try it:
  curl -H 'Authorization: Bearer ${demo.api_key}' '${rest}/calls?start_date=2025-01-01T00:00:00Z&end_date=2027-01-01T00:00:00Z'
  curl -X PUT -H 'Authorization: Bearer ${demo.ingest_key}' -H 'Content-Type: application/json' -d '{"call_status":"scheduled"}' '${rest}/calls/my_first_call'
  npm run -s crs -- org list`);
}

/** Writes the log to a file, so that the terminal stays readable. Keeps the previous run's log as `*.1`. */
async function openLog(dataDir: DataDir, level: Settings['CRS_LOG_LEVEL']): Promise<(service: string) => Logger> {
  const file = dataDir.file(LOG_FILE);
  await rename(file, `${file}.1`).catch(() => {});
  const destination = createWriteStream(file, { mode: 0o600 });
  return (service) => createLogger(service, { level, destination });
}

/** Returns a message for the user. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE') {
    return `Something else listens on port ${'port' in error ? String(error.port) : ''}: stop it, or set CRS_API_PORT or CRS_TOOLS_PORT to another port.`;
  }
  return error.message;
}

try {
  const options = readOptions();
  const env = readEnvironment(settings, process.env);
  const dataDir = new DataDir(resolve(env.CRS_DATA_DIR));
  await dataDir.open();
  const loggerOf = await openLog(dataDir, env.CRS_LOG_LEVEL);
  await runUntilSignal(createLocal(env, options, dataDir, loggerOf), loggerOf('local'));
} catch (error) {
  say(describe(error));
  process.exitCode = 1;
}
