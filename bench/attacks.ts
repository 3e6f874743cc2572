// Measures what each attack that a security review carried out does to an unrelated client: its p50 and p99 without the attack, then during it.
//
//   node bench/attacks.ts [--attack NAME] [--rounds 3] [--seconds 10]
//
// It starts the system itself, one process for each service, and runs on Linux. The attacks, each by a tenant or a client other than the measured one:
//
//   arrays     a write key posts projects whose member_emails have 110,000 items
//   import     an operator of one organization imports batches of the greatest valid and invalid calls
//   metadata   unauthenticated clients of 60 addresses name metadata documents on a server that never answers
//   keys       one address sends a different made-up key with each request
//   details    a key asks for pages of 50 details of 600 KB each, names anonymized
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { connect, type Connection } from '@crs/crs/connection';
import { createApiKey } from '@crs/kit/api-key';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { freePorts } from '@crs/testing/ports';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import type { Offer, Target } from './offer.ts';
import { countStatuses, runOffer } from './run-offer.ts';
import { seedCalls } from './seed.ts';
import { median, quantile, worst } from './statistics.ts';
import { cpuSeconds, startSystem } from './system.ts';

const { values: options } = parseArgs({
  options: {
    attack: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '10' },
  },
});
const ROUNDS = Number(options.rounds);
const SECONDS = Number(options.seconds);
/** Requests a second of the measured client. */
const VICTIM_PER_SECOND = 20;
/** More than a load generator takes to start. */
const START_MS = 2_000;
const NOW = new Date();
const SPEECH = 'What was said, word by word. ';
/** The greatest number of segments that an import admits, in lines of about 1.5 MB. */
const SEGMENTS = Array.from({ length: 20_000 }, (_, n) => ({ speaker: 'Eva Smith', start_seconds: n, text: SPEECH }));

/** What disturbs the measured client, until it stops by itself after {@link SECONDS}. @returns what the attacker saw */
type Attack = (beginsAt: number) => Promise<string>;

interface Scene {
  victim: Target;
  attack: Attack;
}

const [stallPort] = await freePorts(1);
const silent = createServer(() => {}).listen(stallPort, '127.0.0.1');
await once(silent, 'listening');
const stallHost = `localhost:${(silent.address() as AddressInfo).port}`;
const system = await startSystem({
  CRS_TRUSTED_PROXIES: '127.0.0.1',
  CRS_CIMD_ALLOW_HOSTS: stallHost,
  CRS_SIGN_IN_RATE_LIMIT: '100000/60',
});
const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
try {
  const scenes = await prepare(operator);
  for (const [name, scene] of Object.entries(scenes)) {
    if (options.attack === undefined || options.attack === name) await measureScene(name, scene);
  }
} finally {
  operator.close();
  await system.stop();
  silent.close();
}

async function prepare(connection: Connection): Promise<Record<string, Scene>> {
  const wide = { requests: 100_000, period_seconds: 60 };
  for (const id of ['victim', 'attacker']) {
    const settings = { rate_limit: wide, write_surface: true, anonymize_interviewees: true };
    await load(connection, [{ type: 'organization', id, name: id, ...settings }]);
    await seedCalls(system.databaseUrl, { organization: id, rows: 5_000, before: NOW, days: 500 });
  }
  const text = `Eva Smith: ${SPEECH}\n`.repeat(15_000);
  await load(
    connection,
    Array.from({ length: 50 }, (_, n) => ({
      ...{ type: 'call', organization: 'attacker', id: `long_${n}`, created_at: '2019-01-01T00:00:00Z' },
      expert: { name: 'Eva Smith', organization: 'Contoso' },
      transcript: text,
    })),
  );
  const [victimKey, attackerKey] = [await createKey(connection, 'victim'), await createKey(connection, 'attacker')];
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const list: Target = { url: `${system.api}/v1/calls?start_date=2020-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z` };
  const asVictim: Target = { ...list, headers: bearer(victimKey) };

  const emails = JSON.stringify({
    name: 'Project',
    lead_email: 'ann@attacker.example',
    member_emails: new Array(110_000).fill('abc@b'),
  });
  const keys = Array.from({ length: 50_000 }, () => createApiKey());
  const details = `${system.api}/v1/calls?start_date=2019-01-01T00:00:00Z&end_date=2019-01-02T00:00:00Z&expand=detail&per_page=50`;
  const addresses = Array.from({ length: 60 }, (_, n) => `198.51.100.${n}`);
  const client = (n: number) => encodeURIComponent(`https://${stallHost}/${n}`);
  const documents = Array.from({ length: 500 }, (_, n) => ({
    url: `http://${system.tools}/authorize?response_type=code&client_id=${client(n)}`,
    headers: { 'x-forwarded-for': addresses[n % addresses.length]! },
  }));
  return {
    arrays: {
      victim: asVictim,
      attack: attackBy({
        targets: [
          {
            url: `${system.api}/v1/projects`,
            body: emails,
            headers: { ...bearer(attackerKey), 'content-type': 'application/json' },
          },
        ],
        concurrency: 16,
      }),
    },
    import: { victim: asVictim, attack: (beginsAt) => importUntil(connection, beginsAt + SECONDS * 1_000) },
    metadata: {
      victim: { url: `http://${system.tools}/connections`, headers: { 'x-forwarded-for': '192.0.2.1' } },
      attack: attackBy({ targets: documents, concurrency: 500, perSecond: 44 }),
    },
    keys: {
      victim: asVictim,
      attack: attackBy({ targets: [list], credentials: keys, concurrency: 32 }),
    },
    details: {
      victim: asVictim,
      attack: attackBy({ targets: [{ url: details, headers: bearer(attackerKey) }], concurrency: 8 }),
    },
  };
}

function attackBy(offer: Pick<Offer, 'targets' | 'concurrency' | 'perSecond' | 'credentials'>): Attack {
  return async (beginsAt) => countStatuses(await runOffer({ ...offer, beginsAt, seconds: SECONDS, nice: 5 }));
}

/** Two imports at a time, each of three of the greatest valid calls and one with more items than are admitted. */
async function importUntil({ importers, operator: tokenFor }: Connection, end: number): Promise<string> {
  let [batches, accepted, refused, n] = [0, 0, 0, 0];
  const lineOf = (call: object) => ({ number: ++n, json: Buffer.from(JSON.stringify(call)), id: '' });
  const call = () => ({
    ...{ type: 'call', organization: 'attacker', id: `import_${n % 100}`, created_at: '2018-01-01T00:00:00Z' },
    expert: { name: 'Eva Smith', organization: String(n) },
  });
  const one = async () => {
    while (Date.now() < end) {
      const lines = [1, 2, 3].map(() => lineOf({ ...call(), transcript: SEGMENTS }));
      lines.push(lineOf({ ...call(), qa_blocks: new Array(199_000).fill({ question: 'Q', answer: 'A' }) }));
      try {
        const answer = await importers.calls.importRecords({ lines }, await tokenFor('attacker'));
        accepted += answer.accepted;
        refused += answer.errors.length;
      } catch {
        refused += lines.length;
      }
      batches++;
    }
  };
  await Promise.all([one(), one()]);
  return `${batches} batches, ${accepted} lines accepted, ${refused} refused`;
}

async function measureScene(name: string, { victim, attack }: Scene): Promise<void> {
  const measured = (beginsAt: number) =>
    runOffer({ targets: [victim], beginsAt, seconds: SECONDS, perSecond: VICTIM_PER_SECOND, concurrency: 64, nice: -10 });
  const ratios: number[] = [];
  await measured(Date.now() + START_MS);
  for (let round = 1; round <= ROUNDS; round++) {
    const alone = await measured(Date.now() + START_MS);
    const before = cpuSeconds(system.pids);
    const beginsAt = Date.now() + START_MS;
    const [during, seen] = await Promise.all([measured(beginsAt), attack(beginsAt)]);
    const after = cpuSeconds(system.pids);
    const cpu = [...after].map(([process, used]) => `${process} ${(used - before.get(process)!).toFixed(1)}`).join(', ');
    const shown = (times: number[]) => `p50 ${quantile(times, 0.5).toFixed(1)} p99 ${quantile(times, 0.99).toFixed(1)} ms`;
    ratios.push(quantile(during.times, 0.99) / quantile(alone.times, 0.99));
    console.log(
      `${name}, round ${round}: alone ${shown(alone.times)}; during ${shown(during.times)} (${countStatuses(during)}); attacker: ${seen}`,
    );
    console.log(`  CPU seconds: ${cpu}`);
  }
  console.log(`${name}, p99 during to alone: median ${median(ratios).toFixed(2)}, worst ${worst(ratios).toFixed(2)}\n`);
}
