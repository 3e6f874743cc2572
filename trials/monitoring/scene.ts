/** The system of the monitoring trials, with functions that cause the events that alerts are about. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@crs/crs/connection';
import { createAuthority } from '@crs/testing/certificate';
import { createKey, createToken } from '@crs/testing/credentials';
import { INHERITED } from '@crs/testing/inherited';
import { load } from '@crs/testing/load';
import { toolClient } from '@crs/testing/mcp';
import { freePorts } from '@crs/testing/ports';
import { PROCESS_NAMES, type ProcessName } from '@crs/testing/processes';
import { sendRaw } from '@crs/testing/send-raw';
import { openSession } from '@crs/testing/sql';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { programOf } from '@crs/testing/programs';
import { Balancer } from '../faults/balancer.ts';
import { startLoad } from '../faults/clients.ts';
import { startFaultySystem } from '../faults/system.ts';

/** A running system, in which tests cause the events that metrics and logs report. */
export type Scene = Awaited<ReturnType<typeof startScene>>;

export interface SeparateProcess {
  /** `host:port` of its metrics. */
  ops: string;
}

export async function startScene() {
  const directory = await mkdtemp(join(tmpdir(), 'crs-scene-'));
  const system = await startFaultySystem({
    services: [...PROCESS_NAMES, 'webhooks'],
    relays: true,
    environment: { CRS_TENANT_CONCURRENCY: '16', CRS_TENANT_METRICS: 'true' },
    logs: directory,
  });
  const { processes } = system;
  const separateProcesses: ChildProcess[] = [];
  /** Starts a process of a service that is not part of the system. */
  const startSeparately = async (service: ProcessName, environment: Record<string, string>) => {
    const [listen, ops] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`) as [string, string];
    const child = spawn(process.execPath, [programOf(service)], {
      env: { ...INHERITED, CRS_LISTEN: listen, CRS_OPS_LISTEN: ops, ...environment },
      stdio: ['ignore', 'ignore', openSync(join(directory, `${service}-alone.log`), 'a')],
    });
    separateProcesses.push(child);
    return { ops };
  };
  const operator = connect({ addresses: processes.admin, credential: OPERATOR_CREDENTIAL });
  const get = (apiKey: string, path = '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2025-12-31T00:00:00Z') =>
    fetch(`${processes.api}${path}`, { headers: { authorization: `Bearer ${apiKey}` } }).then((response) =>
      response.arrayBuffer(),
    );
  let batch = 0;
  /** Imports a file with valid and invalid lines. */
  const importLines = async () => {
    batch += 1;
    const lines = Array.from({ length: 200 }, (_, n) => ({
      type: 'call',
      organization: 'acme',
      id: `imported-${batch}-${n}`,
      created_at: n % 10 === 0 ? 'yesterday' : '2025-03-01T00:00:00Z',
      conducted_by: 'ann@acme.example',
      segment: 'north',
    }));
    const file = join(directory, 'calls.ndjson');
    await writeFile(file, lines.map((line) => JSON.stringify(line)).join('\n'));
    const addresses = Object.entries(processes.admin).map(([name, address]) => [
      `CRS_${name.toUpperCase()}_ADMIN_ADDRESS`,
      address,
    ]);
    const env = { ...INHERITED, ...Object.fromEntries(addresses), CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL };
    const crs = execFile(process.execPath, [programOf('crs'), 'import', file], { env });
    const log = createWriteStream(join(directory, 'import.log'), { flags: 'a' });
    crs.stdout!.pipe(log);
    crs.stderr!.pipe(log);
    await once(crs, 'close');
  };
  return {
    system,
    /** Folder of the logs: `<service>.log` of the system, `<service>-alone.log` of separate processes, `import.log` of imports. */
    logs: directory,
    startSeparately,
    /** Starts a rate-limit process with TLS that is not part of the system. @returns the process, and the folder of its certificates */
    startWithTls: async () => {
      const authority = createAuthority('scene');
      const { cert, key } = authority.issue('localhost');
      const files = await mkdtemp(join(directory, 'tls-'));
      for (const [name, content] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert })) {
        await writeFile(join(files, name), content);
      }
      return {
        ...(await startSeparately('rate-limit', { CRS_TLS_DIR: files, CRS_TLS_PEER_DOMAIN: 'scene.test' })),
        certificates: files,
      };
    },
    /** Starts clients of all kinds. */
    traffic: (clients: number) =>
      startLoad({
        balancer: new Balancer(processes),
        requests: system.requests,
        clients,
        pauseMs: 100,
        onOutcome: () => {},
      }),
    /** Sends requests of an organization far above its limit. */
    exceedLimit: async () => {
      const rule = { requests: 5, period_seconds: 1 };
      const email = 'eve@small.example';
      await load(operator, [
        { type: 'organization', id: 'small', name: 'Small', rate_limit: rule, tool_rate_limit: rule },
        { type: 'user', organization: 'small', email, name: 'Eve' },
      ]);
      const key = await createKey(operator, 'small');
      const tools = toolClient(processes.tools, await createToken(operator, 'small', email));
      for (let round = 0; round < 10; round++) {
        await Promise.all(Array.from({ length: 10 }, () => Promise.all([get(key), tools('list_projects')])));
        await sleep(100);
      }
    },
    /** Sends a request with an unknown operator credential. */
    guessOperator: async () => {
      const guesser = connect({ addresses: processes.admin, credential: 'cro_nobody' });
      await guesser.operator().catch(() => {});
      guesser.close();
    },
    importLines,
    /** Imports a file while a transaction locks the feed of its organization. */
    importWhileFeedIsHeld: async () => {
      const holder = await openSession(system.databaseUrl);
      await holder.query('begin');
      await holder.query(`update calls.feeds set position = position where organization = 'acme'`);
      const imported = importLines();
      const metrics = async () => (await fetch(`http://${processes.ops('calls')}/metrics`)).text();
      while (!(await metrics()).includes('error_type="55P03"')) await sleep(500);
      await holder.close();
      await imported;
    },
    /** Sends a request without its body, and waits for the refusal. */
    stallBody: async () => {
      const headers = [
        'Host: localhost',
        `Authorization: Bearer ${system.key}`,
        'Content-Type: application/json',
        'Content-Length: 9',
      ];
      await sendRaw(new URL(processes.api).host, `POST /v1/projects HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
    },
    /** Sends more concurrent requests than there are slots. */
    sendBurst: async () => {
      await Promise.allSettled(Array.from({ length: 1_500 }, () => get(system.key)));
    },
    stop: async () => {
      operator.close();
      for (const each of separateProcesses) {
        if (each.exitCode !== null || each.signalCode !== null) continue;
        each.kill('SIGKILL');
        await once(each, 'exit');
      }
      await system.stop();
      await rm(directory, { recursive: true });
    },
  };
}
