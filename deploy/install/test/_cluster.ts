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

/** A fake API server with the part of the Kubernetes API that the installation uses: it stores Secrets, and checks the token and the permissions. */
export interface FakeCluster {
  cluster: Cluster;
  secrets: Map<string, Manifest>;
  /** The requests as `METHOD path`, in order. */
  requests: string[];
  /** Error statuses that the next requests get, in order. */
  failures: number[];
  /** The verbs that the Role allows. */
  allowed: Set<'get' | 'create' | 'patch'>;
  /** Why an admission webhook refuses each new Secret. */
  denied: string | undefined;
  /** Called before a patch is applied, so that a test can change the Secret in between, as another client could. */
  beforePatch: ((name: string) => void) | undefined;
  stop(): Promise<void>;
}

const PATH = '/api/v1/namespaces/research/secrets';

export async function startCluster(): Promise<FakeCluster> {
  const authority = createAuthority('kubernetes');
  const secrets = new Map<string, Manifest>();
  const requests: string[] = [];
  const failures: number[] = [];
  const allowed = new Set<'get' | 'create' | 'patch'>(['get', 'create', 'patch']);
  let version = 0;
  const store = (manifest: Manifest) => {
    manifest.metadata.resourceVersion = String(++version);
    secrets.set(manifest.metadata.name, manifest);
  };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const respond = (status: number, body: unknown = { kind: 'Status', code: status }) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const forbid = (message: string) => respond(403, { kind: 'Status', code: 403, message });
    const forbidVerb = (verb: string) => forbid(`secrets is forbidden: User "installer" cannot ${verb} resource "secrets"`);
    const body = await text(request);
    requests.push(`${request.method} ${request.url}`);
    const failure = failures.shift();
    if (failure !== undefined) return respond(failure);
    if (request.headers.authorization !== 'Bearer the-token') return respond(401);
    if (request.method === 'POST' && request.url === PATH) {
      if (!allowed.has('create')) return forbidVerb('create');
      if (fake.denied !== undefined) return forbid(fake.denied);
      const manifest = JSON.parse(body) as Manifest;
      if (secrets.has(manifest.metadata.name)) return respond(409);
      store(manifest);
      return respond(201, manifest);
    }
    const name = request.url?.startsWith(`${PATH}/`) ? request.url.slice(PATH.length + 1) : undefined;
    if (name === undefined) return respond(405);
    if (request.method === 'PATCH') {
      if (!allowed.has('patch')) return forbidVerb('patch');
      if (request.headers['content-type'] !== 'application/merge-patch+json') return respond(415);
      fake.beforePatch?.(name);
      const old = secrets.get(name);
      if (!old) return respond(404);
      const patch = JSON.parse(body) as { metadata: { resourceVersion: string }; data: Record<string, string | null> };
      if (patch.metadata.resourceVersion !== old.metadata.resourceVersion) return respond(409);
      const stringData = { ...old.stringData };
      for (const [key, value] of Object.entries(patch.data)) {
        if (value === null) delete stringData[key];
        else stringData[key] = Buffer.from(value, 'base64').toString();
      }
      store({ ...old, metadata: { ...old.metadata }, stringData });
      return respond(200);
    }
    if (request.method !== 'GET') return respond(405);
    if (!allowed.has('get')) return forbidVerb('get');
    const found = secrets.get(name);
    if (!found) return respond(404);
    const { stringData, ...rest } = found;
    const data = Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
    return respond(200, { ...rest, data: Object.fromEntries(data) });
  };
  const server = createServer(authority.issue('127.0.0.1'), (request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const fake: FakeCluster = {
    cluster: { host: '127.0.0.1', port, ca: authority.cert, token: 'the-token', namespace: 'research' },
    secrets,
    requests,
    failures,
    allowed,
    denied: undefined,
    beforePatch: undefined,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fake;
}
