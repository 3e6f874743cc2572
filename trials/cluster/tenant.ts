/** Steps of the cluster trial that use the release: they import the demo's organization, and run REST and MCP clients on it. */
import { readFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { crs, kubectl, NAME, NAMESPACE, run } from './cluster.ts';

export const ORGANIZATION = 'northwind-research';
const USER = 'dana@northwind.example';
/** Must equal the origin in examples/trial.yaml. */
export const TOOLS_ORIGIN = 'http://127.0.0.1:8081';
const API_ORIGIN = 'http://127.0.0.1:8080';

const RECORDS = 'deploy/local/demo/demo.ndjson';

/** Imports the demo's records and raises the organization's limits above the load. */
export async function seed(): Promise<string> {
  const lines = await readFile(RECORDS, 'utf8');
  const { accepted, unchanged } = await crs<{ accepted: number; unchanged: number }>(['import', '-'], lines);
  await crs(['org', 'update', ORGANIZATION, '--rate-limit', '100000/60', '--tool-rate-limit', '100000/60']);
  return `${accepted} records accepted, ${unchanged} unchanged`;
}

/** A call and a project of the user, and another user, who leads the projects that the load creates. */
export async function records(): Promise<{ callId: string; projectId: string; leadEmail: string }> {
  const lines = (await readFile(RECORDS, 'utf8')).trim().split('\n');
  const demo = lines.map((line) => JSON.parse(line) as Record<string, string>);
  const call = demo.find(({ type, conducted_by: by }) => type === 'call' && by === USER)!;
  const project = demo.find(({ type, created_by: by }) => type === 'project' && by === USER)!;
  const other = demo.find(({ type, email }) => type === 'user' && email !== USER)!;
  return { callId: call['id']!, projectId: project['id']!, leadEmail: other['email']! };
}

/** Creates a key and a token. */
export async function credentials(): Promise<{ key: string; token: string }> {
  const { key } = await crs<{ key: string }>(['key', 'create', '--org', ORGANIZATION, '--label', 'scenario']);
  const { access_token: token } = await crs<{ access_token: string }>(['token', 'create', '--org', ORGANIZATION, '--user', USER]);
  return { key, token };
}

/** Runs `use` while the gateways' ports are forwarded to the origins in the trial's values. */
async function forwarded<T>(use: () => Promise<T>): Promise<T> {
  const forwards = [
    ['api-gateway', '8080:80'],
    ['tool-gateway', '8081:80'],
  ].map(([service, ports]) =>
    spawn('kubectl', ['--namespace', NAMESPACE, 'port-forward', `service/${NAME}-${service}`, ports!], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  try {
    await Promise.all(forwards.map((forward) => once(forward.stdout, 'data')));
    return await use();
  } finally {
    for (const forward of forwards) forward.kill();
  }
}

/** Runs the client that `.ci/openapi/run` generates from the document of the running system. */
export async function restClient(): Promise<string> {
  const { key } = await credentials();
  const folder = '.ci/openapi';
  const bin = `${folder}/node_modules/.bin`;
  await run('npm', ['ci', '--prefix', folder, '--loglevel=error']);
  return forwarded(async () => {
    await run('curl', ['-fsS', `${API_ORIGIN}/v1/openapi.json`, '-o', `${folder}/openapi.json`]);
    await run(`${bin}/openapi-typescript`, [`${folder}/openapi.json`, '-o', `${folder}/openapi.d.ts`]);
    const output = await run(process.execPath, [`${folder}/client.ts`, `${API_ORIGIN}/v1`, key], { shown: true });
    return `${output.trim().split('\n').length} checks`;
  });
}

/** Runs the checks of `trials/clients/run` that need no browser. */
export async function toolClients(): Promise<string> {
  const { token } = await credentials();
  await kubectl(['get', 'service', `${NAME}-tool-gateway`]);
  return forwarded(async () => {
    const output = await run('trials/clients/run', [], {
      shown: true,
      env: { MCP_URL: `${TOOLS_ORIGIN}/mcp`, MCP_TOKEN: token, MCP_USER: USER },
    });
    return output.trim().split('\n').at(-1)!;
  });
}
