import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { restClient, type Rest } from './rest.ts';

const CLI = fileURLToPath(new URL('../../../.ci/openapi/node_modules/@stoplight/prism-cli/dist/index.js', import.meta.url));
const DOCUMENTED = /^\/v1(\/(calls(\/[^/?]+)?|billing-offices|projects(\/[^/?]+)?|openapi\.json))(\?|$)/;

/** Who asks through Prism, and how to end it. */
export interface Proxied {
  rest: Rest;
  stop(): Promise<void>;
}

/**
 * A client that asks through Prism, which holds each exchange against the OpenAPI document of the gateway (`.ci/openapi`). An exchange
 * that breaks it fails its test: an answer that is not as documented, or a success for a request that the document excludes.
 *
 * Straight to the gateway go paths and methods that are not in the document, and HEAD, at whose empty JSON body Prism fails.
 */
export async function throughPrism(address: string): Promise<Proxied> {
  const direct = restClient(`http://${address}`);
  const directory = await mkdtemp(join(tmpdir(), 'crs-prism-'));
  const file = join(directory, 'openapi.json');
  await writeFile(file, (await direct('/v1/openapi.json')).text);
  const port = await freePort();
  const child = spawn(process.execPath, [CLI, 'proxy', file, `http://${address}/v1`, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject).once('exit', (code) => reject(new Error(`Prism ended with ${code}`)));
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += output.includes('Prism is listening') ? '' : chunk.toString();
      if (output.includes('Prism is listening')) resolve();
    });
  });
  const proxied = restClient(`http://127.0.0.1:${port}`);
  return {
    rest: async (path, request = {}) => {
      const { method = 'GET' } = request;
      if (!['GET', 'POST'].includes(method) || !DOCUMENTED.test(path)) return direct(path, request);
      const answer = await proxied(path.slice('/v1'.length), request);
      const found = violations(answer.headers.get('sl-violations'), answer.status);
      report({ method, path, status: answer.status, violations: found });
      expect(found, `violations of the OpenAPI document by ${method} ${path}`).toEqual([]);
      return answer;
    },
    stop: async () => {
      child.removeAllListeners('exit');
      child.kill();
      await rm(directory, { recursive: true });
    },
  };
}

interface Violation {
  location: string[];
  message: string;
}

/** That a refused request is not as documented is as it should be. */
function violations(header: string | null, status: number): Violation[] {
  const all = JSON.parse(header ?? '[]') as Violation[];
  return all.filter(({ location }) => location[0] === 'response' || status < 400);
}

/** A line for each exchange, to be counted. */
function report(exchange: object): void {
  const file = process.env['CRS_TEST_PRISM_REPORT'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(exchange)}\n`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
