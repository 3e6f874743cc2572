import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '@crs/kit/process/log';
import { Peers } from '@crs/kit/process/peers';
import { Tls } from '@crs/kit/process/tls';
import { certificateSecretOf, existingOnly, maintainCertificates, type VersionedSecretStore } from '../src/certificates.ts';
import { Failure } from '../src/failure.ts';
import { kubernetesSecrets } from '../src/kubernetes.ts';
import { startCluster, type FakeCluster } from './_cluster.ts';

const DAY = 86_400_000;
const MINUTE = 60_000;
const SERVER = 'auth';
const CLIENT = 'calls';
const names = [SERVER, CLIENT, 'crs'];
const log = createLogger('test', { level: 'silent' });
const now = Date.now();

let cluster: FakeCluster;
const cleanups: (() => unknown)[] = [];
beforeEach(async () => {
  cluster = await startCluster();
  cleanups.push(() => cluster.stop());
});
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

const parts = { names, prefix: 'crs', namespace: 'research', peerDomain: 'crs.research.call-research' };
const store = () => kubernetesSecrets(cluster.cluster, 'crs', { labels: {}, annotations: {} });
/** Runs the CronJob once, at a time given in milliseconds from now. */
const maintain = (at: number) => maintainCertificates(store(), parts, log, new Date(now + at));
type Files = Record<string, string>;
const authority = () => cluster.secrets.get('crs-authority')!.stringData;
const filesOf = (part: string): Files => cluster.secrets.get(`crs-${certificateSecretOf(part)}`)!.stringData;
const certificateOf = (part: string) => new X509Certificate(filesOf(part)['tls.crt']!);
const trustedBy = (part: string) => filesOf(part)['ca.crt']!.match(/BEGIN/g)!.length;
/** Returns a copy of the current Secrets of all components. */
const secrets = () => Object.fromEntries(names.map((part) => [part, { ...filesOf(part) }]));
const writesOf = () => cluster.requests.filter((line) => !line.startsWith('GET'));

async function open(files: Files, peers?: Peers): Promise<Tls> {
  const directory = mkdtempSync(join(tmpdir(), 'crs-tls-'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  const tls = await Tls.open(directory, log, peers);
  cleanups.push(() => {
    tls.close();
    rmSync(directory, { recursive: true });
  });
  return tls;
}

/** Sends a request to a real TLS server that admits `calls` and `crs`. The client expects the host name of its Service. @returns `OK`, or `unavailable` */
async function call(server: Files, by: Files): Promise<string> {
  const tls = await open(server, new Peers(parts.peerDomain));
  const listener = tls.createHttpsServer({}, ['calls', 'crs'], (_request, response) => response.end('OK'));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  const files = (await open(by)).httpsRequestOptions(`crs-${SERVER}`);
  try {
    return await new Promise((resolve) => {
      request({ host: '127.0.0.1', port, agent: false, ...files }, (response) => resolve(text(response)))
        .on('error', () => resolve('unavailable'))
        .end();
    });
  } finally {
    listener.close();
  }
}

describe('the certificates of an installation', () => {
  it('contain the name of their component and of its Service, and work on real connections', async () => {
    await maintain(0);
    expect([...cluster.secrets.keys()].toSorted()).toEqual(['crs-auth-mtls', 'crs-authority', 'crs-calls-mtls', 'crs-crs-mtls']);
    expect(cluster.secrets.get('crs-calls-mtls')!.type).toBe('kubernetes.io/tls');
    const certificate = certificateOf('calls');
    expect(certificate.subjectAltName!.split(', ')).toEqual(
      [
        'crs-calls',
        'crs-calls.research',
        'crs-calls.research.svc',
        'crs-calls.research.svc.cluster.local',
        'calls.crs.research.call-research',
      ].map((name) => `DNS:${name}`),
    );
    expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
    expect(await call(filesOf(SERVER), filesOf(CLIENT))).toBe('OK');
    // A client rejects a server that presents another component's certificate.
    expect(await call(filesOf(CLIENT), filesOf('crs'))).toBe('unavailable');
    // A server rejects a component that it doesn't admit.
    expect(await call(filesOf(SERVER), filesOf(SERVER))).toBe('unavailable');
  });

  it('are each in a separate Secret, without the private key of the CA', async () => {
    await maintain(0);
    for (const part of names) expect(Object.keys(filesOf(part)).toSorted()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
    expect(new Set(names.map((part) => filesOf(part)['tls.key'])).size).toBe(names.length);
    expect(JSON.stringify(secrets())).not.toContain(JSON.stringify(authority()['ca.key']).slice(1, -1));
  });

  it('are not changed by a run before their renewal is due', async () => {
    await maintain(0);
    const before = JSON.stringify([...cluster.secrets]);
    cluster.requests.length = 0;
    await maintain(DAY);
    expect(writesOf()).toEqual([]);
    expect(JSON.stringify([...cluster.secrets])).toBe(before);
  });

  it('are renewed when a third of their 30 days is left, while the old ones stay valid', async () => {
    await maintain(-19 * DAY);
    const old = secrets();
    await maintain(0);
    expect(secrets()).toEqual(old);
    await maintain(1.1 * DAY);
    const renewed = secrets();
    for (const part of names) {
      expect(renewed[part]!['tls.crt']).not.toBe(old[part]!['tls.crt']);
      expect(renewed[part]!['ca.crt']).toBe(old[part]!['ca.crt']);
      expect(certificateOf(part).validToDate.getTime()).toBeCloseTo(now + 31.1 * DAY, -4);
    }
    expect(await call(old[SERVER]!, old[CLIENT]!)).toBe('OK');
  });

  it('work, once renewed, with old ones that another process still presents', async () => {
    await maintain(-21 * DAY);
    const old = secrets();
    await maintain(0);
    const renewed = secrets();
    expect(renewed[SERVER]).not.toEqual(old[SERVER]);
    expect(await call(renewed[SERVER]!, old[CLIENT]!)).toBe('OK');
    expect(await call(old[SERVER]!, renewed[CLIENT]!)).toBe('OK');
  });

  it('are issued again if they are unusable, missing or empty', async () => {
    await maintain(0);
    filesOf(CLIENT)['tls.key'] = filesOf('crs')['tls.key']!;
    cluster.secrets.delete('crs-crs-mtls');
    filesOf(SERVER)['tls.crt'] = '';
    await maintain(0);
    expect(await call(filesOf(SERVER), filesOf(CLIENT))).toBe('OK');
    expect(await call(filesOf(SERVER), filesOf('crs'))).toBe('OK');
  });
});

it.each(['authority', 'calls-mtls'])(
  'a renewal without the Secret %s fails with a message about how to create it',
  async (name) => {
    await maintain(0);
    cluster.secrets.delete(`crs-${name}`);
    await expect(maintainCertificates(existingOnly(store()), parts, log)).rejects.toThrow(
      new Failure(`the Secret crs-${name} is missing. The Job of \`helm upgrade\` makes it.`),
    );
    expect(cluster.secrets.has(`crs-${name}`)).toBe(false);
  },
);

describe('the CA', () => {
  /** Creates a CA with less than a third of its lifetime left, and does the first step of its replacement. */
  const makeDue = async () => {
    await maintain(-500 * DAY);
    await maintain(0);
  };

  it('is replaced in three steps, and certificates of consecutive steps accept each other', async () => {
    await makeDue();
    const stages: Record<string, Files>[] = [];
    const step = async (at: number, trusted: number) => {
      await maintain(at);
      expect(trustedBy(SERVER)).toBe(trusted);
      stages.push(secrets());
    };
    // Step 1: both CAs are trusted, and the old one signs.
    stages.push(secrets());
    expect(trustedBy(SERVER)).toBe(2);
    expect(Object.keys(authority()).toSorted()).toEqual(['ca.crt', 'ca.key', 'next.crt', 'next.key', 'settled']);
    // The next step waits until every pod has had time to read both CAs.
    await maintain(9 * MINUTE);
    expect(secrets()).toEqual(stages[0]);
    // Step 2: the new one signs.
    await step(11 * MINUTE, 2);
    expect(Object.keys(authority()).toSorted()).toEqual(['ca.crt', 'ca.key', 'former.crt', 'settled']);
    for (const part of names) expect(certificateOf(part).issuer).toBe(new X509Certificate(authority()['ca.crt']!).subject);
    // Step 3: the old one is no longer trusted.
    await step(22 * MINUTE, 1);
    expect(Object.keys(authority()).toSorted()).toEqual(['ca.crt', 'ca.key']);
    expect(filesOf(SERVER)['ca.crt']).toBe(authority()['ca.crt']);
    cluster.requests.length = 0;
    await maintain(33 * MINUTE);
    expect(writesOf()).toEqual([]);
    for (const [index, stage] of stages.entries()) {
      for (const other of stages.slice(Math.max(0, index - 1), index + 2)) {
        expect(await call(stage[SERVER]!, other[CLIENT]!), `${index}`).toBe('OK');
      }
    }
    // After the last step, a stolen certificate of the old CA is rejected.
    expect(await call(stages[2]![SERVER]!, stages[0]![CLIENT]!)).toBe('unavailable');
  });

  it('delays its next step again if a Secret had other CAs than the rest when the step was due', async () => {
    await makeDue();
    filesOf(CLIENT)['ca.crt'] = authority()['ca.crt']!;
    await maintain(11 * MINUTE);
    expect([trustedBy(CLIENT), 'next.crt' in authority()]).toEqual([2, true]);
    await maintain(20 * MINUTE);
    expect('next.crt' in authority()).toBe(true);
    await maintain(22 * MINUTE);
    expect('former.crt' in authority()).toBe(true);
  });

  it('is replaced in the same steps if an operator requests it', async () => {
    await maintain(0);
    const first = authority()['ca.crt'];
    authority()['replace'] = 'gradually';
    await maintain(0);
    await maintain(11 * MINUTE);
    await maintain(22 * MINUTE);
    expect(Object.keys(authority()).toSorted()).toEqual(['ca.crt', 'ca.key']);
    expect(authority()['ca.crt']).not.toBe(first);
    expect(await call(filesOf(SERVER), filesOf(CLIENT))).toBe('OK');
  });

  it.each([
    ['an operator requests that', 0, () => (authority()['replace'] = 'at-once')],
    ['the old one has expired', -731 * DAY, () => undefined],
  ])('is replaced in a single run if %s', async (_, createdAt, prepare) => {
    await maintain(createdAt);
    const first = authority()['ca.crt'];
    prepare();
    await maintain(0);
    // After an expiry, the last step is a run of its own.
    await maintain(11 * MINUTE);
    expect(Object.keys(authority()).toSorted()).toEqual(['ca.crt', 'ca.key']);
    expect(authority()['ca.crt']).not.toBe(first);
    expect(trustedBy(SERVER)).toBe(1);
    expect(await call(filesOf(SERVER), filesOf(CLIENT))).toBe('OK');
  });

  it('is created only once by concurrent runs', async () => {
    await Promise.all([maintain(0), maintain(0), maintain(0)]);
    for (const part of names) expect(filesOf(part)['ca.crt']).toBe(authority()['ca.crt']);
    expect(await call(filesOf(SERVER), filesOf(CLIENT))).toBe('OK');
  });

  it('stays usable if a run crashes between any two writes of its replacement', async () => {
    await makeDue();
    for (const at of [11, 22]) {
      for (let writes = 0; writes < names.length + 2; writes += 1) {
        let left = writes;
        const update: VersionedSecretStore['update'] = async (...given) => {
          if (left-- === 0) throw new Error('crash');
          return store().update(...given);
        };
        await maintainCertificates({ ...store(), update }, parts, log, new Date(now + at * MINUTE)).catch(() => undefined);
        expect(await call(filesOf(SERVER), filesOf(CLIENT)), `${at} ${writes}`).toBe('OK');
      }
    }
    await maintain(33 * MINUTE);
    expect(Object.keys(authority()).toSorted()).toEqual(['ca.crt', 'ca.key']);
  });

  it('is read again if another run has changed it meanwhile', async () => {
    await makeDue();
    let others = 0;
    cluster.beforePatch = (name) => {
      if (others++ === 0) cluster.secrets.get(name)!.metadata.resourceVersion = 'changed';
    };
    await maintain(11 * MINUTE);
    expect('former.crt' in authority()).toBe(true);
  });

  it.each([
    [{ 'ca.key': 'nothing' }, "ca.crt and ca.key in the Secret crs-authority don't fit together."],
    [{ replace: 'now' }, 'replace in the Secret crs-authority must be "gradually" or "at-once".'],
  ])('is rejected with %j in its Secret', async (change, message) => {
    await maintain(0);
    Object.assign(authority(), change);
    await expect(maintain(0)).rejects.toThrow(new Failure(message));
  });

  it('is not renewed if the Role forbids it: the run fails with a message about the Role', async () => {
    await maintain(-25 * DAY);
    cluster.allowed.delete('patch');
    await expect(maintain(0)).rejects.toThrow(
      'Kubernetes did not patch the Secret crs-auth-mtls: secrets is forbidden: User "installer" cannot patch resource "secrets" (status 403). The Role of the ServiceAccount must allow that.',
    );
  });
});
