import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { REASONS, type ServiceError } from '@crs/kit/errors';
import { createLogger } from '@crs/kit/process/log';
import { Tls } from '@crs/kit/process/tls';
import { client } from '@crs/kit/rpc/client';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { createAuthority } from '@crs/testing/certificate';
import { INHERITED } from '@crs/testing/inherited';
import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { startProcesses, type Processes } from '@crs/testing/processes';
import { ProgramCertificates } from '@crs/testing/program-certificates';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { everyRoute, everyTool, isServed } from './_surface.ts';
import { programOf } from '@crs/testing/programs';

const CRS = programOf('crs');
const PROJECT = '00000000-0000-4000-8000-00000000000a';
const ANN = 'ann@acme.example';
const RECORDS = [
  { type: 'organization', id: 'acme', name: 'Acme', write_surface: true },
  { type: 'user', organization: 'acme', email: ANN, name: 'Ann' },
  { type: 'project', organization: 'acme', id: PROJECT, name: 'Bikes', members: [{ email: ANN }] },
  { type: 'call', organization: 'acme', id: 'call-1', project_id: PROJECT, created_at: '2025-03-01T10:00:00Z' },
];
const VALUES = {
  call_id: 'call-1',
  project_id: PROJECT,
  start_date: '2025-01-01T00:00:00Z',
  end_date: '2026-01-01T00:00:00Z',
  name: 'Boats',
  lead_email: ANN,
  written_call_id: 'call-2',
  line: JSON.stringify({ type: 'user', email: ANN }),
};

const [first, second] = [createAuthority('first'), createAuthority('second')];
/** A certificate for each program. RPCs admit programs by the name in it. */
const certificates = new ProgramCertificates(first);
const silent = createLogger('test', { level: 'silent' });

let directory: string;
let database: TestDatabase;
let processes: Processes;
/** The addresses at which the processes call each other, by service. */
const dialled = new Map<string, string[]>();
const internalListeners = () => [...[...dialled.values()].flat(), ...Object.values(processes.admin).map(named)];
const named = (address: string) => address.replace('127.0.0.1', 'localhost');

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'crs-tls-'));
  // Trust both CAs, as during a rotation.
  certificates.trust(first, second);
  database = await createDatabase(inject('postgresUrl'), inject('template'));
  processes = await startProcesses({
    databaseUrl: database.url,
    secret: SECRET,
    environment: { CRS_HEALTH_LISTEN: '127.0.0.1:0' },
    environments: certificates.settings(),
    logs: directory,
    via: async (target, address) => {
      if (target !== 'postgres') dialled.set(target, [...(dialled.get(target) ?? []), named(address)]);
      return named(address);
    },
  });
});
afterAll(async () => {
  await processes?.stop();
  await database?.drop();
  certificates.remove();
  rmSync(directory, { recursive: true });
});

/** Runs the crs CLI. @param by the program whose certificate it presents; null for plaintext */
async function crs(args: string[], { input = '', by = 'crs' }: { input?: string; by?: 'crs' | 'calls' | null } = {}) {
  const addresses = Object.entries(processes.admin).map(([service, address]) => [
    `CRS_${service.toUpperCase()}_ADMIN_ADDRESS`,
    named(address),
  ]);
  const env = {
    ...INHERITED,
    ...Object.fromEntries(addresses),
    CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL,
    ...(by && { CRS_TLS_DIR: certificates.directoryOf(by) }),
  };
  const child = spawn(process.execPath, [CRS, ...args, '--json'], { env });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await once(child, 'exit');
  return { code: child.exitCode, json: JSON.parse(stdout || stderr) };
}

/** The issuer of the certificate that a listener presents to a client that has a certificate itself. */
async function presentedIssuer(address: string): Promise<string> {
  const [host, port] = address.split(':') as [string, string];
  const own = first.issue('anybody');
  const socket = connectTls({
    host,
    port: Number(port),
    ca: first.cert + second.cert,
    ...own,
    ALPNProtocols: ['h2', 'http/1.1'],
  });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  const { issuer } = socket.getPeerX509Certificate()!;
  socket.destroy();
  return issuer;
}

/** Sends plaintext. @returns the listener's response: a TLS alert, or nothing */
async function plaintext(address: string): Promise<string> {
  const [host, port] = address.split(':') as [string, string];
  const socket = connectTcp(Number(port), host);
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  return text(socket).catch(() => '');
}

/** Calls `grpc.health.v1.Health` in plaintext, as the kubelet does. */
async function plainHealth(address: string): Promise<string | undefined> {
  const session = connectHttp2(`http://${address}`);
  const path = '/grpc.health.v1.Health/Check';
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' });
  // A gRPC frame with an empty message.
  stream.end(Buffer.alloc(5));
  const answer = await buffer(stream);
  session.close();
  return ['UNKNOWN', 'SERVING', 'NOT_SERVING'][answer.at(-1)!];
}

/** Calls auth with the certificate of a program. @returns the reason of the refusal; undefined if it succeeds */
async function refusalOf(program: 'api-gateway' | 'tool-gateway' | 'entities'): Promise<string | undefined> {
  const tls = await Tls.open(certificates.directoryOf(program), silent);
  const auth = client(AuthServiceService, {
    name: 'auth',
    address: dialled.get('auth')![0]!,
    timeoutMs: 5_000,
    retry: false,
    tls,
  });
  try {
    return await auth.authenticateKey({ apiKey: 'crk_nobody', audiences: ['calls'] }).then(
      () => undefined,
      ({ reason }: ServiceError) => reason,
    );
  } finally {
    auth.close();
    tls.close();
  }
}

describe('a system with a certificate for each program', () => {
  let key: string;
  let token: string;
  const rest = async () => {
    const routes = await everyRoute(new URL(processes.api).host, VALUES);
    const answers: [name: string, status: number][] = [];
    // One after the other: a call is stored, changed and deleted.
    for (const { name, send } of routes) answers.push([name, (await send(new URL(processes.api).host, key)).status]);
    return answers;
  };
  const tools = async () => {
    const all = await everyTool(processes.tools, token, VALUES);
    return Promise.all(all.map(async ({ name, send }) => [name, isServed(await send(processes.tools, token))]));
  };

  it('imports records, and serves every route, every tool and sign-in', { timeout: 60_000 }, async () => {
    expect(await crs(['status'])).toMatchObject({ code: 0 });
    const imported = await crs(['import', '-'], { input: RECORDS.map((record) => `${JSON.stringify(record)}\n`).join('') });
    expect(imported).toMatchObject({ code: 0, json: { accepted: RECORDS.length } });
    key = (await crs(['key', 'create', '--org', 'acme', '--rights', 'read,write,ingest,delete'])).json.key;
    token = (await crs(['token', 'create', '--org', 'acme', '--user', ANN])).json.access_token;
    expect((await rest()).filter(([, status]) => status !== 200)).toEqual([
      ['putCall', 201],
      ['deleteCall', 204],
      ['createProject', 201],
    ]);
    expect((await tools()).filter(([, served]) => !served)).toEqual([]);
    const metadata = await fetch(`http://${processes.tools}/.well-known/oauth-authorization-server`);
    expect([metadata.status, ((await metadata.json()) as { issuer: string }).issuer]).toEqual([200, 'http://127.0.0.1:8081']);
  });

  it('refuses calls from programs that an RPC does not admit', async () => {
    // The client reports such a refusal as NOT_OFFERED, because it takes it for a replica of another version.
    expect(await refusalOf('api-gateway')).not.toBe(REASONS.notOffered);
    expect(await refusalOf('tool-gateway')).toBe(REASONS.notOffered);
    expect(await refusalOf('entities')).toBe(REASONS.notOffered);
    expect(await crs(['org', 'list'], { by: 'calls' })).toMatchObject({ code: 1 });
  });

  it('refuses plaintext on every internal listener', async () => {
    expect(internalListeners()).toHaveLength(10);
    for (const address of internalListeners()) expect(await plaintext(address)).not.toMatch(/HTTP/);
    expect(await crs(['status'], { by: null })).toMatchObject({ code: 1, json: { ok: false } });
  });

  it('serves health probes and metrics in plaintext, including the expiry of its certificates', async () => {
    const ready = readFileSync(join(directory, 'calls.log'), 'utf8')
      .split('\n')
      .find((line) => line.includes('"ready"'))!;
    const { health } = (JSON.parse(ready) as { addresses: { health: string } }).addresses;
    expect(await plainHealth(health)).toBe('SERVING');
    const metrics = await (await fetch(`http://${processes.ops('calls')}/metrics`)).text();
    const expiryOf = (name: string) => Number(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'm').exec(metrics)?.[1]);
    const own = readFileSync(join(certificates.directoryOf('calls'), 'tls.crt'));
    expect(expiryOf('crs_tls_certificate_expiry')).toBe(new X509Certificate(own).validToDate.getTime() / 1000);
    expect(expiryOf('crs_tls_authority_expiry')).toBe(new X509Certificate(first.cert).validToDate.getTime() / 1000);
  });

  it('switches to certificates of a new CA without interruption', { timeout: 60_000 }, async () => {
    certificates.issue(second);
    const statuses = new Set<unknown>();
    await expect
      .poll(
        async () => {
          for (const [, status] of await rest()) statuses.add(status);
          return (await Promise.all(internalListeners().map(presentedIssuer))).filter((issuer) => issuer !== 'CN=second');
        },
        { timeout: 15_000, interval: 500 },
      )
      .toEqual([]);
    expect(statuses).toEqual(new Set([200, 201, 204]));
    // A restart forces new connections, which use the new certificates.
    await processes.terminate('calls');
    await processes.start('calls');
    const refused = async () => [
      ...(await rest()).filter(([, status]) => status > 204),
      ...(await tools()).filter(([, served]) => !served),
    ];
    await expect.poll(refused, { timeout: 10_000 }).toEqual([]);
  });
});
