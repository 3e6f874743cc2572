/**
 * Connects the cross-app access clients of the TypeScript and Python SDKs by identity assertions of a firm's directory (ID-JAG), on a system of its own: no
 * page, tools called. Who is removed in the directory gets no further token, and no directory connects anyone of another organization.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import {
  Client,
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { writeCertificate } from './certificate.ts';
import { startManagedDirectory, type ManagedDirectory } from './managed-directory.ts';
import { startSystem } from './system.ts';

/** An assistant on the TypeScript SDK, for one person. */
class CrossApp {
  readonly #registered: Registered;
  readonly #provider: CrossAppAccessProvider;
  #assertion = '';

  constructor(directory: ManagedDirectory, subject: string, registered: Registered) {
    this.#registered = registered;
    this.#provider = new CrossAppAccessProvider({
      clientId: registered.client_id,
      clientSecret: registered.client_secret,
      expectedIssuer: issuer,
      assertion: async ({ authorizationServerUrl: audience, resourceUrl: resource, scope }) => {
        const idToken = await directory.idTokenOf(subject);
        const request = { audience, resource, idToken, clientId: 'assistant', ...(scope !== undefined && { scope }) };
        const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({ idpUrl: directory.issuer, ...request });
        this.#assertion = jwtAuthGrant;
        return jwtAuthGrant;
      },
    });
  }

  /** The lifetime of the access token in seconds. */
  get lifetime(): number {
    return this.#provider.tokens()!.expires_in!;
  }

  loseToken(): void {
    this.#provider.saveTokens({ access_token: 'lost', token_type: 'Bearer' });
  }

  /** Connects, and calls a tool. @returns the names of the projects */
  async projects(): Promise<string[]> {
    const client = new Client(SELF);
    await client.connect(new StreamableHTTPClientTransport(new URL(system.url), { authProvider: this.#provider }));
    const { structuredContent } = await client.callTool({ name: 'list_projects', arguments: { scope: 'all' } });
    await client.close();
    return (structuredContent as { projects: { name: string }[] }).projects.map(({ name }) => name);
  }

  /** Sends the last assertion again. @returns status and error */
  async replay(): Promise<string> {
    const { client_id: id, client_secret: secret } = this.#registered;
    const body = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: this.#assertion };
    const headers = { Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
    const response = await fetch(`${issuer}/token`, { method: 'POST', headers, body: new URLSearchParams(body) });
    return `${response.status} ${((await response.json()) as { error: string }).error}`;
  }
}

const ORGANIZATIONS = ['acme', 'globex'];
const SELF = { name: 'managed', version: '1.0.0' };

interface Registered {
  client_id: string;
  client_secret: string;
}

const say = (line: string) => process.stdout.write(`  ${line}\n`);
const folder = await mkdtemp(join(tmpdir(), 'crs-managed-'));
const certificate = await writeCertificate(folder);
setDefaultCACertificates([...getCACertificates('default'), await readFile(certificate.cert, 'utf8')]);
const [acme, globex] = await Promise.all(ORGANIZATIONS.map(() => startManagedDirectory(certificate)));
assert(acme && globex);
const hosts = [acme, globex].map(({ host }) => host);
const system = await startSystem({ NODE_EXTRA_CA_CERTS: certificate.cert, CRS_OIDC_ALLOW_HOSTS: hosts.join() });
const { origin: issuer } = new URL(system.url);
try {
  const registered = await prepare();
  const assistant = new CrossApp(acme, 'ann', registered);
  assert.deepEqual(await assistant.projects(), ['Project of ann@acme.example']);
  assert(assistant.lifetime <= 3_600);
  say('TypeScript SDK: connected without a page, a tool called');
  assert.deepEqual(await python(acme, 'ann', registered), ['Project of ann@acme.example']);
  say('Python SDK: connected without a page, a tool called');
  assert.deepEqual(await grantKinds('acme'), ['managed']);

  globex.people.set('eve', 'ann@acme.example');
  await assert.rejects(new CrossApp(globex, 'eve', registered).projects(), { code: 'invalid_grant' });
  assert.deepEqual(await new CrossApp(globex, 'ann', registered).projects(), ['Project of ann@globex.example']);
  say('the directory of another organization: connects its own people, nobody of the first one');

  acme.people.delete('ann');
  assistant.loseToken();
  await assert.rejects(assistant.projects(), /access_denied/);
  await assert.rejects(new CrossApp(acme, 'ann', registered).projects(), /access_denied/);
  await assert.rejects(python(acme, 'ann', registered), /the directory answers 400/);
  assert.equal(await assistant.replay(), '400 invalid_grant');
  say('removed in the directory: no further token, neither by the assertion of before');

  const routes = await requestedRoutes();
  assert(routes.has('/token') && !routes.has('/authorize'), [...routes].join());
} finally {
  await Promise.all([system.stop(), acme.stop(), globex.stop()]);
  await rm(folder, { recursive: true });
}
process.exit();

/** Creates two organizations, each with a directory that connects assistants, and a person of the same name who leads a project. */
async function prepare(): Promise<Registered> {
  const lines = ORGANIZATIONS.flatMap((organization) => {
    const email = `ann@${organization}.example`;
    const members = [{ email, role: 'lead' }];
    return [
      { type: 'organization', id: organization, name: organization },
      { type: 'user', organization, email, name: 'Ann' },
      { type: 'project', organization, id: crypto.randomUUID(), name: `Project of ${email}`, members },
    ];
  });
  // Only the domains of its provider keep the second organization's directory from connecting this user.
  lines.push({ type: 'user', organization: 'globex', email: 'ann@acme.example', name: 'Ann' });
  await system.crs(['import', '-'], lines.map((line) => JSON.stringify(line)).join('\n'));
  const redirect = ['--redirect-uri', 'http://127.0.0.1/callback'];
  const registered = await system.crs<Registered>(['client', 'create', '--name', 'Assistant', ...redirect, '--secret']);
  for (const [index, directory] of [acme!, globex!].entries()) {
    const organization = ORGANIZATIONS[index]!;
    directory.clientId = registered.client_id;
    directory.people.set('ann', `ann@${organization}.example`);
    const provider = ['--oidc-issuer', directory.issuer, '--oidc-client-id', 'crs', '--oidc-domains', `${organization}.example`];
    await system.crs(['org', 'update', organization, ...provider, '--assertion-issuers', directory.issuer]);
  }
  return registered;
}

/** Connects with the Python SDK, and calls a tool. @returns the names of the projects @throws Error with what the client printed */
async function python(directory: ManagedDirectory, subject: string, registered: Registered): Promise<string[]> {
  const child = spawn(process.env['PYTHON']!, [new URL('managed.py', import.meta.url).pathname]);
  const settings = {
    url: system.url,
    issuer,
    ...registered,
    token_endpoint: directory.tokenEndpoint,
    certificate: certificate.cert,
    id_token: await directory.idTokenOf(subject),
  };
  child.stdin.end(`${JSON.stringify(settings)}\n`);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (output === '') throw new Error(errors);
  return JSON.parse(output) as string[];
}

async function grantKinds(organization: string): Promise<string[]> {
  const { data } = await system.crs<{ data: { kind: string }[] }>(['token', 'list', '--org', organization]);
  return data.map(({ kind }) => kind);
}

/** The routes that the log of the services names. */
async function requestedRoutes(): Promise<Set<string | undefined>> {
  const lines = (await readFile(system.logFile, 'utf8')).trim().split('\n');
  return new Set(lines.map((line) => (JSON.parse(line) as { route?: string }).route));
}
