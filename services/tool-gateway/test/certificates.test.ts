import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createAuthority, type Certificate } from '@crs/testing/certificate';
import { INHERITED } from '@crs/testing/inherited';
import { toolClient } from '@crs/testing/mcp';
import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { startProcesses, type Processes } from '@crs/testing/processes';
import { restClient } from '@crs/testing/rest';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';

const CRS = fileURLToPath(new URL('../../crs/src/main.ts', import.meta.url));
const [first, second] = [createAuthority('first'), createAuthority('second')];
const shownFirst = first.issue('localhost');
const RECORDS = [
  { type: 'organization', id: 'acme', name: 'Acme' },
  { type: 'user', organization: 'acme', email: 'ann@acme.example', name: 'Ann' },
];

let directory: string;
let database: TestDatabase;
let processes: Processes;
/** The processes reach each other at these addresses. */
const dialled = new Set<string>();

/** Writes the files of a Secret in a pod. Both authorities are trusted, as during a rotation. */
function show({ cert, key }: Certificate): void {
  for (const [name, content] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': first.cert + second.cert })) {
    writeFileSync(join(directory, name), content);
  }
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'crs-tls-'));
  show(shownFirst);
  database = await createDatabase(inject('postgresUrl'), inject('template'));
  processes = await startProcesses({
    databaseUrl: database.url,
    secret: SECRET,
    environment: { CRS_TLS_DIR: directory, CRS_HEALTH_LISTEN: '127.0.0.1:0' },
    logs: directory,
    via: async (target, address) => {
      const name = address.replace('127.0.0.1', 'localhost');
      if (target !== 'postgres') dialled.add(name);
      return name;
    },
  });
});
afterAll(async () => {
  await processes?.stop();
  await database?.drop();
  rmSync(directory, { recursive: true });
});

async function crs(args: string[], { input = '', tls = true }: { input?: string; tls?: boolean } = {}) {
  const addresses = Object.entries(processes.admin).map(([service, address]) => [
    `CRS_${service.toUpperCase()}_ADMIN_ADDRESS`,
    address.replace('127.0.0.1', 'localhost'),
  ]);
  const env = {
    ...INHERITED,
    ...Object.fromEntries(addresses),
    CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL,
    ...(tls && { CRS_TLS_DIR: directory }),
  };
  const child = spawn(process.execPath, [CRS, ...args, '--json'], { env });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await once(child, 'exit');
  return { code: child.exitCode, json: JSON.parse(stdout || stderr) };
}

/** The certificate that a listener presents to a client with one. */
async function shown(address: string): Promise<string> {
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
  const { fingerprint256 } = socket.getPeerX509Certificate()!;
  socket.destroy();
  return fingerprint256;
}

/** The listener's answer to plaintext: a TLS alert, or nothing. */
async function plaintext(address: string): Promise<string> {
  const [host, port] = address.split(':') as [string, string];
  const socket = connectTcp(Number(port), host);
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  return text(socket).catch(() => '');
}

/** Asks `grpc.health.v1.Health` in plaintext, as the kubelet does. */
async function plainHealth(address: string): Promise<string | undefined> {
  const session = connectHttp2(`http://${address}`);
  const path = '/grpc.health.v1.Health/Check';
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' });
  // An empty request.
  stream.end(Buffer.alloc(5));
  const answer = await buffer(stream);
  session.close();
  return ['UNKNOWN', 'SERVING', 'NOT_SERVING'][answer.at(-1)!];
}

describe('a system with TLS between its services', () => {
  let rest: () => Promise<number>;
  let tools: () => Promise<unknown>;

  it('loads records, and answers REST, tools and sign-in', { timeout: 60_000 }, async () => {
    expect(await crs(['status'])).toMatchObject({ code: 0 });
    const imported = await crs(['import', '-'], { input: RECORDS.map((record) => `${JSON.stringify(record)}\n`).join('') });
    expect(imported).toMatchObject({ code: 0, json: { accepted: 2 } });
    const { json: key } = await crs(['key', 'create', '--org', 'acme', '--label', 'test']);
    const { json: token } = await crs(['token', 'create', '--org', 'acme', '--user', 'ann@acme.example']);
    const client = restClient(processes.api, { key: key.key });
    rest = async () => (await client('/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z')).status;
    const call = toolClient(processes.tools, token.access_token);
    tools = async () => (await call('list_projects')).value?.projects;
    expect(await rest()).toBe(200);
    expect(await tools()).toEqual([]);
    const metadata = await fetch(`http://${processes.tools}/.well-known/oauth-authorization-server`);
    expect([metadata.status, ((await metadata.json()) as { issuer: string }).issuer]).toEqual([200, 'http://127.0.0.1:8081']);
  });

  it('refuses plaintext on every inner listener', async () => {
    expect(dialled.size).toBe(6);
    for (const address of [...dialled, ...Object.values(processes.admin)]) expect(await plaintext(address)).not.toMatch(/HTTP/);
    expect(await crs(['status'], { tls: false })).toMatchObject({ code: 1, json: { ok: false } });
  });

  it('answers probes and shows metrics in plaintext, with the ends of its certificates', async () => {
    const ready = readFileSync(join(directory, 'calls.log'), 'utf8')
      .split('\n')
      .find((line) => line.includes('"ready"'))!;
    const { health } = (JSON.parse(ready) as { addresses: { health: string } }).addresses;
    expect(await plainHealth(health)).toBe('SERVING');
    const metrics = await (await fetch(`http://${processes.ops('calls')}/metrics`)).text();
    const endOf = (name: string) => Number(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'm').exec(metrics)?.[1]);
    expect(endOf('crs_tls_certificate_expiry')).toBe(new X509Certificate(shownFirst.cert).validToDate.getTime() / 1000);
    expect(endOf('crs_tls_authority_expiry')).toBe(new X509Certificate(first.cert).validToDate.getTime() / 1000);
  });

  it('takes up a new certificate of a new authority without a pause', { timeout: 60_000 }, async () => {
    const renewed = second.issue('localhost');
    show(renewed);
    const { fingerprint256 } = new X509Certificate(renewed.cert);
    const addresses = [...dialled, ...Object.values(processes.admin).map((address) => address.replace('127.0.0.1', 'localhost'))];
    const statuses = new Set<number>();
    await expect
      .poll(
        async () => {
          statuses.add(await rest());
          return (await Promise.all(addresses.map(shown))).filter((fingerprint) => fingerprint !== fingerprint256);
        },
        { timeout: 15_000, interval: 200 },
      )
      .toEqual([]);
    expect([...statuses]).toEqual([200]);
    // New connections use the new certificate.
    await processes.terminate('calls');
    await processes.start('calls');
    await expect.poll(rest, { timeout: 10_000 }).toBe(200);
    expect(await tools()).toEqual([]);
  });
});
