import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Environment } from '@crs/kit/process/config';
import type { VersionedSecret, VersionedSecretStore } from './certificates.ts';
import { Failure } from './failure.ts';
import { isNetworkError, retryTransient } from './retry.ts';
import type { SecretData } from './secrets.ts';

/** Kubernetes mounts a pod's token and the API server's CA here. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const TIMEOUT_MS = 10_000;
/** Argo CD would treat a Secret with the release's labels as its own, and delete it, because no template contains it, or with the application. */
const ANNOTATIONS = {
  'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
  'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
};

export interface Cluster {
  host: string;
  port: number;
  /** The CA of the API server's certificate, in PEM. */
  ca: string;
  token: string;
  namespace: string;
}

/** Finds the cluster that this pod runs in. @throws Failure outside of a cluster, or without a token */
export async function findCluster(environment: Environment, directory = SERVICE_ACCOUNT): Promise<Cluster> {
  const host = environment['KUBERNETES_SERVICE_HOST'];
  if (!host)
    throw new Failure(
      'KUBERNETES_SERVICE_HOST is not set: run this in a pod of Kubernetes. The install Job runs elsewhere with CRS_SECRET_DIR.',
    );
  const port = Number(environment['KUBERNETES_SERVICE_PORT'] ?? 443);
  const [ca, token, namespace] = await Promise.all(
    ['ca.crt', 'token', 'namespace'].map((name) =>
      readFile(join(directory, name), 'utf8').catch(() => {
        throw new Failure(`${join(directory, name)} can't be read: the pod needs a ServiceAccount with its token mounted.`);
      }),
    ),
  );
  return { host, port, ca: ca!, token: token!.trim(), namespace: namespace!.trim() };
}

/** The API server responded that it is temporarily unavailable. */
class Busy extends Error {}

interface Manifest {
  metadata: { resourceVersion: string };
  /** Base64. */
  data?: SecretData;
}

/** What each new Secret has. */
export interface SecretMetadata {
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** A store in a namespace, whose Secrets have names with one prefix. */
export function kubernetesSecrets(
  cluster: Cluster,
  prefix: string,
  { labels, annotations }: SecretMetadata,
): VersionedSecretStore {
  const path = `/api/v1/namespaces/${encodeURIComponent(cluster.namespace)}/secrets`;
  const describe = (name: string) => `the Secret ${prefix}-${name}`;
  const request = (method: 'GET' | 'POST' | 'PATCH', target: string, body?: unknown) =>
    retryTransient(
      async () => {
        const response = await send(cluster, method, target, body);
        if (response.status === 429 || response.status >= 500) throw new Busy(`it responds with status ${response.status}`);
        return response;
      },
      (error) => isNetworkError(error) || error instanceof Busy,
    ).catch((error: Error & { code?: string }) => {
      throw new Failure(
        `The Kubernetes API at ${cluster.host}:${cluster.port} can't be reached: ${error.code ?? error.message}.`,
      );
    });
  const refused = (what: string, { status, body }: Response) =>
    new Failure(
      `Kubernetes did not ${what}: ${messageOf(body) ?? 'no reason given'} (status ${status}).${adviceOn(status, body)}`,
    );
  const find = async (name: string): Promise<VersionedSecret | undefined> => {
    const response = await request('GET', `${path}/${prefix}-${name}`);
    if (response.status === 404) return undefined;
    if (response.status !== 200) throw refused(`get ${describe(name)}`, response);
    const { metadata, data = {} } = JSON.parse(response.body) as Manifest;
    const decoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]);
    return { data: Object.fromEntries(decoded) as SecretData, version: metadata.resourceVersion };
  };
  return {
    describe,
    find,
    read: async (name) => (await find(name))?.data,
    async create(name, data, type = 'Opaque') {
      const response = await request('POST', path, {
        apiVersion: 'v1',
        kind: 'Secret',
        type,
        metadata: { name: `${prefix}-${name}`, labels, annotations: { ...annotations, ...ANNOTATIONS } },
        stringData: data,
      });
      if (response.status === 409) return false;
      if (response.status !== 201) throw refused(`create ${describe(name)}`, response);
      return true;
    },
    async update(name, data, found) {
      const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')] as const);
      const gone = Object.keys(found.data).filter((key) => !(key in data));
      const response = await request('PATCH', `${path}/${prefix}-${name}`, {
        metadata: { resourceVersion: found.version },
        data: { ...Object.fromEntries(encoded), ...Object.fromEntries(gone.map((key) => [key, null])) },
      });
      if (response.status === 409 || response.status === 404) return false;
      if (response.status !== 200) throw refused(`patch ${describe(name)}`, response);
      return true;
    },
  };
}

interface Response {
  status: number;
  body: string;
}

/** Returns the message of a `Status` of Kubernetes. An admission webhook gives its reason there. */
function messageOf(body: string): string | undefined {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    return typeof message === 'string' && message !== '' ? message : undefined;
  } catch {
    return undefined;
  }
}

/** Only the authorizer's refusals name the account: a webhook's aren't about the Role. */
function adviceOn(status: number, body: string): string {
  const isAuthorizer = status === 401 || (status === 403 && /cannot (get|create|patch) resource/.test(body));
  return isAuthorizer ? ' The Role of the ServiceAccount must allow that.' : '';
}

/** Uses `https`, because `fetch` accepts CAs only for the whole process. */
function send({ host, port, ca, token }: Cluster, method: string, path: string, body: unknown): Promise<Response> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json', 'content-type': type };
  return new Promise((resolve, reject) => {
    request({ host, port, ca, method, path, headers, signal: AbortSignal.timeout(TIMEOUT_MS) }, (response) => {
      text(response).then((content) => resolve({ status: response.statusCode!, body: content }), reject);
    })
      .on('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
  });
}
