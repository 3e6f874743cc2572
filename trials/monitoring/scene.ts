import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect } from '@crs/crs/connection';
import { createAuthority } from '@crs/testing/certificate';
import { startLoad } from '../faults/clients.ts';
import { startFaultySystem, type FaultySystem } from '../faults/system.ts';
import { loader } from '@crs/testing/load';
import { toolClient } from '@crs/testing/mcp';
import { freePorts, type ProcessName } from '@crs/testing/processes';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';

const SERVICES = fileURLToPath(new URL('../../services/', import.meta.url));

/** A system to which everything happens that metrics tell of. */
export interface Scene {
  system: FaultySystem;
  /** One more process of a service, besides the system. */
  lone(service: ProcessName, environment: Record<string, string>): Promise<Lone>;
  /** One more rate-limit, by itself, whose listener is TLS. */
  secure(validForDays?: number): Promise<Lone>;
  /** Callers of all kinds, until stopped. */
  traffic(clients: number): { stop(): Promise<void> };
  /** An organization whose limit is far below what it asks. */
  exceedLimit(): Promise<void>;
  /** Batches with good lines and bad. */
  importLines(lines?: number): Promise<void>;
  /** More at once than there are slots. */
  crowd(): Promise<void>;
  stop(): Promise<void>;
}

export interface Lone {
  /** `host:port` of its metrics. */
  ops: string;
  /** `host:port` that it serves at. */
  listen: string;
  process: ChildProcess;
}

export async function startScene(): Promise<Scene> {
  const system = await startFaultySystem({ relays: true, environment: { CRS_TENANT_CONCURRENCY: '16' } });
  const { processes } = system;
  const directory = await mkdtemp(join(tmpdir(), 'crs-scene-'));
  const lones: ChildProcess[] = [];
  const lone = async (service: ProcessName, environment: Record<string, string>) => {
    const [listen, ops] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`) as [string, string];
    const process_ = spawn(process.execPath, [join(SERVICES, service, 'src/main.ts')], {
      env: { PATH: process.env['PATH'], CRS_LISTEN: listen, CRS_OPS_LISTEN: ops, ...environment },
      stdio: 'ignore',
    });
    lones.push(process_);
    return { ops, listen, process: process_ };
  };
  const operator = connect({ addresses: processes.admin, credential: OPERATOR_CREDENTIAL });
  const tryLoad = loader(operator);
  const ask = (apiKey: string, path = '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2025-12-31T00:00:00Z') =>
    fetch(`${processes.api}${path}`, { headers: { authorization: `Bearer ${apiKey}` } }).then((answer) => answer.arrayBuffer());
  let batch = 0;
  return {
    system,
    lone,
    secure: async (validForDays) => {
      const authority = createAuthority('scene', validForDays);
      const { cert, key } = authority.issue('localhost');
      const files = await mkdtemp(join(directory, 'tls-'));
      for (const [name, content] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert })) {
        await writeFile(join(files, name), content);
      }
      return lone('rate-limit', { CRS_TLS_DIR: files });
    },
    traffic: (clients) =>
      startLoad({
        api: [processes.api.replace('http://', '')],
        tools: [processes.tools],
        questions: system.questions,
        clients,
        pauseMs: 100,
        onOutcome: () => {},
      }),
    exceedLimit: async () => {
      const rule = { requests: 5, period_seconds: 1 };
      const email = 'eve@small.example';
      await tryLoad([
        { type: 'organization', id: 'small', name: 'Small', rate_limit: rule, tool_rate_limit: rule },
        { type: 'user', organization: 'small', email, name: 'Eve' },
      ]);
      const options = await operator.operator('small');
      const { secret } = await operator.auth.createKey({ label: '', readOnly: true, expiresInSeconds: 0 }, options);
      const { accessToken } = await operator.auth.createToken({ email, scopes: [], expiresInSeconds: 0 }, options);
      const tools = toolClient(processes.tools, accessToken);
      for (let round = 0; round < 10; round++) {
        await Promise.all(Array.from({ length: 10 }, () => Promise.all([ask(secret), tools('list_projects')])));
        await sleep(100);
      }
    },
    importLines: async (lines = 200) => {
      batch += 1;
      await tryLoad(
        Array.from({ length: lines }, (_, n) => ({
          type: 'call',
          organization: 'acme',
          id: `imported-${batch}-${n}`,
          created_at: n % 10 === 0 ? 'yesterday' : '2025-03-01T00:00:00Z',
          conducted_by: 'ann@acme.example',
          segment: 'north',
        })),
      );
    },
    crowd: async () => {
      await Promise.allSettled(Array.from({ length: 1_500 }, () => ask(system.key)));
    },
    stop: async () => {
      operator.close();
      for (const each of lones) {
        if (each.exitCode !== null || each.signalCode !== null) continue;
        each.kill('SIGKILL');
        await once(each, 'exit');
      }
      await system.stop();
      await rm(directory, { recursive: true });
    },
  };
}
