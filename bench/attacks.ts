// Measures how the attacks of a security review affect an unrelated client: its p50 and p99 before and during each attack.
//
//   node bench/attacks.ts [--attack NAME] [--rounds 3] [--seconds 10]
//
// Starts the system itself, one process for each service. Linux only. The attacks, each by another tenant or client than the measured one:
//
//   arrays     a write key posts projects whose member_emails have 110,000 items
//   import     an operator of one organization imports batches of the largest valid and invalid calls
//   metadata   unauthenticated clients from 60 addresses name metadata documents on a server that never responds
//   keys       one address sends a different made-up key with each request
//   details    a key requests pages of 50 details of 600 KB each, names anonymized
//   records    a key sends bodies of 16 MiB with 1,000 calls, each of which changes, on four connections without pause
//   merges     the same by merges; the measured client reads one call instead of a page of the list
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { createApiKey } from '@crs/kit/api-key';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { countStatuses, describe, runOffers, type Offer, type Target } from './offer.ts';
import { printFigure, quantile, readOptions } from './report.ts';
import { seedCalls, seededId } from './seed.ts';
import { bearer, cpuSeconds, createOrganization, startSystem } from './system.ts';

const { attack: chosen, rounds, seconds } = readOptions({ attack: '', rounds: 3, seconds: 10 });
/** Requests per second of the measured client. */
const VICTIM_PER_SECOND = 20;
const NOW = new Date();
const SPEECH = 'What was said, word by word. ';
/** The largest number of segments that an import admits, in lines of about 1.5 MB. */
const SEGMENTS = Array.from({ length: 20_000 }, (_, n) => ({ speaker: 'Eva Smith', start_seconds: n, text: SPEECH }));

/** Calls of about 16 KiB, which fill a body. */
const RECORDS = 1_000;
/** The longest body that the API admits, less a margin. */
const BODY_BYTES = 16 * 1024 * 1024 - 64 * 1024;

interface Scene {
  victim: Target;
  /** The goal. */
  atMost: number;
  /** The attack: a load, or a function that runs until `over` resolves. */
  attack: Omit<Offer, 'beginsAt'> | ((over: Promise<unknown>) => Promise<string>);
}

const silent = createServer(() => {}).listen(0, '127.0.0.1');
await once(silent, 'listening');
const stallHost = `localhost:${(silent.address() as AddressInfo).port}`;
const system = await startSystem({
  CRS_TRUSTED_PROXIES: '127.0.0.1',
  CRS_CIMD_ALLOW_HOSTS: stallHost,
  CRS_SIGN_IN_RATE_LIMIT: '100000/60',
});
try {
  for (const [name, scene] of Object.entries(await prepare())) {
    if (chosen === '' || chosen === name) await measureScene(name, scene);
  }
} finally {
  await system.stop();
  silent.close();
}

async function prepare(): Promise<Record<string, Scene>> {
  const settings = { write_surface: true, anonymize_interviewees: true };
  const keys: string[] = [];
  for (const id of ['victim', 'attacker']) {
    keys.push((await createOrganization(system, id, [], settings)).key);
    await seedCalls(system, { organizations: [id], rows: 5_000, before: NOW, days: 500 });
  }
  const text = `Eva Smith: ${SPEECH}\n`.repeat(15_000);
  const details = Array.from({ length: 50 }, (_, n) => ({
    ...{ type: 'call', organization: 'attacker', id: `long_${n}`, created_at: '2019-01-01T00:00:00Z' },
    expert: { name: 'Eva Smith', organization: 'Contoso' },
    transcript: text,
  }));
  // Merges change only calls that are stored.
  const merged = Array.from({ length: RECORDS }, (_, n) => ({
    ...{ type: 'call', organization: 'attacker', id: `sent_${n}`, created_at: '2018-01-01T00:00:00Z' },
  }));
  await load(system.operator, [...details, ...merged]);
  const [asVictim, asAttacker] = [bearer(keys[0]!), bearer(keys[1]!)];
  const list = `${system.api}/v1/calls?start_date=2020-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z`;
  const victim: Target = { url: list, headers: asVictim };

  const emails = JSON.stringify({
    name: 'Project',
    lead_email: 'ann@attacker.example',
    member_emails: new Array(110_000).fill('abc@b'),
  });
  const detailPage = `${system.api}/v1/calls?start_date=2019-01-01T00:00:00Z&end_date=2019-01-02T00:00:00Z&expand=detail&per_page=50`;
  const addresses = Array.from({ length: 60 }, (_, n) => `198.51.100.${n}`);
  const client = (n: number) => encodeURIComponent(`https://${stallHost}/${n}`);
  const documents = Array.from({ length: 500 }, (_, n) => ({
    url: `http://${system.tools}/authorize?response_type=code&client_id=${client(n)}`,
    headers: { 'x-forwarded-for': addresses[n % addresses.length]! },
  }));
  const attackBy = (offer: Pick<Offer, 'targets' | 'concurrency' | 'perSecond' | 'credentials'>) => ({
    ...offer,
    seconds,
    nice: 5,
  });
  const writer = await createKey(system.operator, 'attacker', { rights: ['ingest'] });
  const records = (isMerge: boolean) => ({
    // Equal bodies would change nothing.
    targets: [0, 1, 2].map((n) => ({
      url: `${system.api}/v1/records`,
      body: recordsBody(n, isMerge),
      headers: { ...bearer(writer), 'content-type': 'application/x-ndjson' },
    })),
    concurrency: 4,
  });
  const project = {
    url: `${system.api}/v1/projects`,
    body: emails,
    headers: { ...asAttacker, 'content-type': 'application/json' },
  };
  return {
    arrays: { victim, atMost: 2.5, attack: attackBy({ targets: [project], concurrency: 16 }) },
    import: { victim, atMost: 2.5, attack: importUntil },
    metadata: {
      victim: { url: `http://${system.tools}/connections`, headers: { 'x-forwarded-for': '192.0.2.1' } },
      atMost: 2.5,
      attack: attackBy({ targets: documents, concurrency: 500, perSecond: 44 }),
    },
    keys: {
      victim,
      atMost: 2.5,
      attack: attackBy({
        targets: [{ url: list }],
        credentials: Array.from({ length: 50_000 }, () => createApiKey()),
        concurrency: 32,
      }),
    },
    details: { victim, atMost: 2.5, attack: attackBy({ targets: [{ url: detailPage, headers: asAttacker }], concurrency: 8 }) },
    records: { victim, atMost: 2, attack: attackBy(records(false)) },
    merges: {
      victim: { url: `${system.api}/v1/calls/${seededId(7)}`, headers: asVictim },
      atMost: 2,
      attack: attackBy(records(true)),
    },
  };
}

/** Returns a body of records that differs from that of another number in each record. */
function recordsBody(n: number, isMerge: boolean): string {
  const lines = Array.from({ length: RECORDS }, (_, i) => {
    const call = {
      type: 'call',
      id: `sent_${i}`,
      summary: `Summary ${n}`,
      ...(isMerge ? { merge: true } : { created_at: '2018-01-01T00:00:00Z' }),
    };
    const segment = { speaker: 'Eva Smith', start_seconds: 7, text: SPEECH.repeat(6) };
    const segments = Math.floor(
      (BODY_BYTES / RECORDS - JSON.stringify({ ...call, transcript: [] }).length - 1) / (JSON.stringify(segment).length + 1),
    );
    return JSON.stringify({ ...call, transcript: Array(segments).fill(segment) });
  });
  return lines.join('\n');
}

/** Runs two imports at a time, each with three of the largest valid calls and one call with too many items. */
async function importUntil(over: Promise<unknown>): Promise<string> {
  const { importers, operator: tokenFor } = system.operator;
  let isOver = false;
  void over.then(() => (isOver = true));
  let [batches, accepted, refused, n] = [0, 0, 0, 0];
  const lineOf = (call: object) => ({ number: ++n, json: Buffer.from(JSON.stringify(call)), id: '' });
  const call = () => ({
    ...{ type: 'call', organization: 'attacker', id: `import_${n % 100}`, created_at: '2018-01-01T00:00:00Z' },
    expert: { name: 'Eva Smith', organization: String(n) },
  });
  const one = async () => {
    while (!isOver) {
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

async function measureScene(name: string, { victim, attack, atMost }: Scene): Promise<void> {
  const measured = { targets: [victim], seconds, perSecond: VICTIM_PER_SECOND, concurrency: 64, nice: -10 };
  const ratios: number[] = [];
  // Both, because new processes compile the code of either first.
  await runOffers(measured, ...(typeof attack === 'function' ? [] : [attack]));
  for (let round = 1; round <= rounds; round++) {
    const [alone] = await runOffers(measured);
    const before = cpuSeconds(system.pids);
    const offers = runOffers(measured, ...(typeof attack === 'function' ? [] : [attack]));
    const worked = typeof attack === 'function' ? await attack(offers) : undefined;
    const [during, attacker] = await offers;
    const seen = worked ?? countStatuses(attacker!);
    const after = cpuSeconds(system.pids);
    const cpu = [...after].map(([process, used]) => `${process} ${(used - before.get(process)!).toFixed(1)}`).join(', ');
    ratios.push(quantile(during!.times, 0.99) / quantile(alone!.times, 0.99));
    console.log(
      `${name}, round ${round}: alone ${describe(alone!)}; during ${describe(during!)} (${countStatuses(during!)}); attacker: ${seen}`,
    );
    console.log(`  CPU seconds: ${cpu}`);
  }
  printFigure(`${name}, p99 during to alone`, ratios, { atMost });
}
