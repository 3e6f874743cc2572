import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createAuthority } from '@crs/testing/certificate';
import type { Cluster } from '../src/kubernetes.ts';

interface Manifest {
  apiVersion: string;
  kind: string;
  type: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string>; resourceVersion?: string };
  stringData: Record<string, string>;
}

/** A server with the part of the Kubernetes API that the installation uses. */
export interface FakeCluster {
  cluster: Cluster;
  secrets: Map<string, Manifest>;
  /** The requests as `METHOD path`, in order. */
  asked: string[];
  /** The statuses of the next answers, which are failures. */
  failures: number[];
  /** The verbs that the Role allows. */
  allowed: Set<'get' | 'create' | 'patch'>;
  /** Runs before a change is stored, as another client could change the Secret in between. */
  beforePatch: ((name: string) => void) | undefined;
  stop(): Promise<void>;
}

const PATH = '/api/v1/namespaces/research/secrets';

export async function startCluster(): Promise<FakeCluster> {
  const authority = createAuthority('kubernetes');
  const secrets = new Map<string, Manifest>();
  const asked: string[] = [];
  const failures: number[] = [];
  const allowed = new Set<'get' | 'create' | 'patch'>(['get', 'create', 'patch']);
  let version = 0;
  const store = (manifest: Manifest) => {
    manifest.metadata.resourceVersion = String(++version);
    secrets.set(manifest.metadata.name, manifest);
  };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const answer = (status: number, body: unknown = { kind: 'Status', code: status }) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const body = await text(request);
    asked.push(`${request.method} ${request.url}`);
    const failure = failures.shift();
    if (failure !== undefined) return answer(failure);
    if (request.headers.authorization !== 'Bearer the-token') return answer(401);
    if (request.method === 'POST' && request.url === PATH) {
      if (!allowed.has('create')) return answer(403);
      const manifest = JSON.parse(body) as Manifest;
      if (secrets.has(manifest.metadata.name)) return answer(409);
      store(manifest);
      return answer(201, manifest);
    }
    const name = request.url?.startsWith(`${PATH}/`) ? request.url.slice(PATH.length + 1) : undefined;
    if (name === undefined) return answer(405);
    if (request.method === 'PATCH') {
      if (!allowed.has('patch')) return answer(403);
      if (request.headers['content-type'] !== 'application/merge-patch+json') return answer(415);
      fake.beforePatch?.(name);
      const old = secrets.get(name);
      if (!old) return answer(404);
      const patch = JSON.parse(body) as { metadata: { resourceVersion: string }; data: Record<string, string | null> };
      if (patch.metadata.resourceVersion !== old.metadata.resourceVersion) return answer(409);
      const stringData = { ...old.stringData };
      for (const [key, value] of Object.entries(patch.data)) {
        if (value === null) delete stringData[key];
        else stringData[key] = Buffer.from(value, 'base64').toString();
      }
      store({ ...old, metadata: { ...old.metadata }, stringData });
      return answer(200);
    }
    if (request.method !== 'GET') return answer(405);
    if (!allowed.has('get')) return answer(403);
    const found = secrets.get(name);
    if (!found) return answer(404);
    const { stringData, ...rest } = found;
    const data = Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
    return answer(200, { ...rest, data: Object.fromEntries(data) });
  };
  const server = createServer(authority.issue('127.0.0.1'), (request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const fake: FakeCluster = {
    cluster: { host: '127.0.0.1', port, ca: authority.cert, token: 'the-token', namespace: 'research' },
    secrets,
    asked,
    failures,
    allowed,
    beforePatch: undefined,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fake;
}
