/** The trial of erasures: erases a person from a real system during kills, restores it and replays the ledger, and searches all that is left. */
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { isDeepStrictEqual } from 'node:util';
import { connect, type Connection } from '@crs/crs/connection';
import { prepareDatabase } from '@crs/local/stack';
import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { PROCESS_NAMES } from '@crs/testing/processes';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { openSession } from '@crs/testing/sql';
import { say } from '../faults/clients.ts';
import { startFaultySystem, type FaultySystem } from '../faults/system.ts';
import { followersOf, type Follower } from './copies.ts';
import { crs } from './crs.ts';
import { backUp, restore, searchDump } from './dump.ts';
import { countIn, differences, total, type Hits } from './hits.ts';
import { letStepsBeBlocked, runThroughKills } from './kills.ts';
import { CANARY, COLLEAGUE, EMAIL, NAME, trialCalls, type TrialCall } from './person.ts';

/** The person is erased from the first. The second has the same calls, and the third what the erasure must leave of them. */
const [ERASED, OTHER, REFERENCE] = ['erased', 'other', 'reference'] as const;
const ORGANIZATIONS = [ERASED, OTHER, REFERENCE];
const BOUNDLESS = { requests: 1_000_000_000, period_seconds: 60 };
const BY_NAME = ['--name', NAME];
const BY_EMAIL = ['--email', EMAIL];

type Documents = Map<string, unknown>;

/** What is known of the organizations before the first erasure. */
interface Start {
  /** The backup that is restored. */
  backup: string;
  /** The lines of an export of the second organization. */
  others: string;
  /** Canaries of its rows. */
  othersRows: Hits;
  followers: Follower[];
  /** Canaries in the first organization, and the calls of the third, by follower. */
  planted: Map<string, number>;
  expected: Map<string, Documents>;
}

export class ErasureTrial {
  readonly #calls: TrialCall[];
  readonly #system: FaultySystem;
  readonly #operator: Connection;
  readonly #directory: string;
  readonly #ledger: string;
  #start!: Start;
  readonly faults: string[] = [];

  private constructor(calls: TrialCall[], system: FaultySystem, directory: string) {
    this.#calls = calls;
    this.#system = system;
    this.#operator = connect({ addresses: system.processes.admin, credential: OPERATOR_CREDENTIAL });
    this.#directory = directory;
    this.#ledger = join(directory, 'erasures.json');
  }

  /** Runs it with as many calls that have the person in every named field. @returns a sentence for each fault */
  static async run(named: number): Promise<string[]> {
    const directory = await mkdtemp(join(tmpdir(), 'crs-erasure-'));
    const system = await startFaultySystem({ relays: false, logs: directory });
    const trial = new ErasureTrial(trialCalls(named), system, directory);
    try {
      await trial.#run();
      return trial.faults;
    } finally {
      trial.#operator.close();
      await system.stop();
      await rm(directory, { recursive: true, force: true });
    }
  }

  async #run(): Promise<void> {
    await this.#prepare();
    const all = () => true;
    const bystanders = ({ kind }: TrialCall) => kind === 'bystander';

    await this.#erase([]);
    await this.#check('after the erasure', all);
    await this.#restore();
    await this.#replay();
    await this.#check('after a restore and a replay', all);
    await this.#restore();
    await this.#erase(['--calls']);
    await this.#check('after the erasure with --calls', bystanders);
    await this.#restore();
    await this.#replay();
    await this.#check('after a restore and a replay of both', bystanders);
  }

  async #prepare(): Promise<void> {
    const { databaseUrl, processes } = this.#system;
    const followers: Follower[] = [];
    const [planted, expected] = [new Map<string, number>(), new Map<string, Documents>()];
    for (const organization of ORGANIZATIONS) {
      const lines = this.#calls.map(({ before, after }) => (organization === REFERENCE ? after : before));
      await load(this.#operator, [
        { type: 'organization', id: organization, write_surface: true, allowed_fields: ALLOWED_FIELDS, rate_limit: BOUNDLESS },
        { type: 'user', organization, email: COLLEAGUE, name: 'Ann' },
        ...lines.map((line) => ({ type: 'call', organization, ...line })),
      ]);
    }
    for (const organization of [REFERENCE, ERASED]) {
      const key = await createKey(this.#operator, organization);
      const source = { organization, baseUrl: `${processes.api}/v1`, key };
      for (const follower of await followersOf(source, this.#directory, databaseUrl)) {
        const documents = await follower.sync();
        if (organization === REFERENCE) expected.set(follower.name, documents);
        else {
          followers.push(follower);
          planted.set(follower.name, total(hitsIn(documents)));
        }
      }
    }
    const backup = join(this.#directory, 'backup.dump');
    await backUp(databaseUrl, backup);
    await letStepsBeBlocked(databaseUrl);
    const { hits } = await searchDump(databaseUrl);
    planted.set('pg_dump', total(hits.get(ERASED)!));
    const others = await this.#export(OTHER);
    const exported = await this.#export(ERASED);
    planted.set('crs export', exported.match(CANARY)!.length);
    expected.set('crs export', documentsOf(await this.#export(REFERENCE)));
    this.#start = { backup, others, othersRows: hits.get(OTHER)!, followers, planted, expected };
    say(`${this.#calls.length} calls in each of ${ORGANIZATIONS.length} organizations`);
    this.#expect('the second organization has what the first has', isDeepStrictEqual(hits.get(OTHER), hits.get(ERASED)));
  }

  /** Erases the person by name and then by e-mail, during kills, and keeps the ledger outside the database. */
  async #erase(options: string[]): Promise<void> {
    const { databaseUrl, processes } = this.#system;
    for (const person of [BY_NAME, BY_EMAIL]) {
      const args = ['person', 'erase', '--org', ERASED, ...person, ...options, '--yes', '--json'];
      const { places, runs } = await runThroughKills(processes, databaseUrl, args);
      say(`crs person erase ${person[0]} ${options.join(' ')}: ${places} steps with kills in each, ${runs} runs`);
    }
    await crs(processes, 'erasures', '--to', this.#ledger);
    const isMatch = ({ kind, mention, hasNickname }: TrialCall, by: string) =>
      kind === 'named' || kind === 'both'
        ? by === 'name' || (hasNickname && options.length === 0)
        : options.length > 0 && mention?.by === by;
    const { data } = JSON.parse(await crs(processes, 'erasures', '--org', ERASED, '--json')) as { data: Entry[] };
    for (const by of ['name', 'email']) {
      const counted = data.filter(({ email }) => (email === null) === (by === 'name')).reduce((sum, { count }) => sum + count, 0);
      const due = this.#calls.filter((call) => isMatch(call, by)).length;
      this.#expect(`the ledger has ${due} calls by ${by}`, counted === due, `${counted}`);
    }
  }

  /** Restores the backup from before the first erasure. */
  async #restore(): Promise<void> {
    const { databaseUrl, processes } = this.#system;
    for (const name of PROCESS_NAMES) await processes.kill(name);
    await restore(databaseUrl, this.#start.backup);
    await prepareDatabase({ adminDatabaseUrl: databaseUrl, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
    await letStepsBeBlocked(databaseUrl);
    for (const name of PROCESS_NAMES) await processes.start(name);
    const found = total((await searchDump(databaseUrl)).hits.get(ERASED)!);
    this.#expect('the restored backup has the person', found === this.#start.planted.get('pg_dump'), `${found} canaries`);
  }

  async #replay(): Promise<void> {
    const { databaseUrl, processes } = this.#system;
    const { places, runs } = await runThroughKills(processes, databaseUrl, ['erasures', 'replay', this.#ledger, '--json']);
    say(`crs erasures replay: ${places} steps with kills in each, ${runs} runs`);
  }

  /** Searches each place for the person. @param isLeft whether a call must still be there */
  async #check(moment: string, isLeft: (call: TrialCall) => boolean): Promise<void> {
    const { databaseUrl } = this.#system;
    const { planted, expected, followers, others, othersRows } = this.#start;
    const left = this.#calls.filter(isLeft);
    const ids = new Set(left.map(({ id }) => id));
    const session = await openSession(databaseUrl);
    await session.query('vacuum');
    await session.close();
    say(`\n${moment}`.padEnd(44) + ' calls  canaries  expected  before');
    const row = (place: string, calls: number, canaries: number, due: number) =>
      say(
        place.padEnd(43) +
          [calls, canaries, due, planted.get(place) ?? 0].map((n, i) => String(n).padStart([6, 10, 10, 8][i]!)).join(''),
      );

    const { hits } = await searchDump(databaseUrl);
    const hitsOf = (organization: string) => hits.get(organization) ?? new Map<string, number>();
    const rows = left.length === this.#calls.length ? hitsOf(REFERENCE) : new Map<string, number>();
    row('pg_dump', left.length, total(hitsOf(ERASED)), total(rows));
    this.#report(moment, 'pg_dump', differences(hitsOf(ERASED), rows));
    this.#report(moment, 'pg_dump, no organization', differences(hitsOf(''), new Map()));
    this.#report(moment, 'pg_dump, the other organization', differences(hitsOf(OTHER), othersRows));

    const exported = async () => documentsOf(await this.#export(ERASED));
    for (const { name, sync } of [{ name: 'crs export', sync: exported }, ...followers]) {
      const documents = await sync();
      const due = new Map([...expected.get(name)!].filter(([id]) => ids.has(id)));
      row(name, documents.size, total(hitsIn(documents)), total(hitsIn(due)));
      this.#report(moment, name, [...differences(hitsIn(documents), hitsIn(due)), ...compare(documents, due)]);
    }
    this.#expect('the other organization is exported as before', (await this.#export(OTHER)) === others);
    await this.#checkFiles(row);
    for (const [by, person] of [
      ['name', BY_NAME],
      ['email', BY_EMAIL],
    ] as const)
      await this.#checkMentions(by, person, left);
  }

  /** Searches the logs of all services, the ledger, and what dlt keeps in its working directory. */
  async #checkFiles(row: (place: string, calls: number, canaries: number, due: number) => void): Promise<void> {
    const files = await readdir(this.#directory, { recursive: true });
    const places = {
      logs: files.filter((name) => /^[^/]+\.log$/.test(name)),
      ledger: [basename(this.#ledger)],
      "dlt's working directory": files.filter((name) => /^dlt\/.*\.\w+$/.test(name)),
    };
    for (const [place, names] of Object.entries(places)) {
      let canaries = 0;
      for (const name of names) canaries += (await readText(join(this.#directory, name))).match(CANARY)?.length ?? 0;
      row(place, 0, canaries, 0);
      this.#expect(`no canary in the ${place}`, canaries === 0, `${canaries}`);
    }
  }

  async #checkMentions(by: 'name' | 'email', person: string[], left: TrialCall[]): Promise<void> {
    const found = await crs(this.#system.processes, 'person', 'find', '--org', ERASED, ...person, '--json');
    const { data } = JSON.parse(found) as { data: { call_id: string }[] };
    const due = left.flatMap(({ id, mention }) =>
      mention?.by === by ? { call_id: id, fields: [], mentions: [mention.path] } : [],
    );
    const wrong = due.find((each, i) => !isDeepStrictEqual(each, data[i]));
    const isExact = data.length === due.length && wrong === undefined;
    this.#expect(
      `crs person find by ${by} lists exactly the ${due.length} mentions`,
      isExact,
      `${data.length}; ${JSON.stringify(wrong)}`,
    );
  }

  #export(organization: string): Promise<string> {
    return crs(this.#system.processes, 'export', '--org', organization);
  }

  #report(moment: string, place: string, faults: string[]): void {
    for (const fault of faults.slice(0, 5)) this.#expect(`${moment}, ${place}`, false, fault);
  }

  #expect(statement: string, holds: boolean, instead = ''): void {
    if (holds) return;
    this.faults.push(`${statement}: ${instead}`);
    say(`  NOT: ${statement}: ${instead}`);
  }
}

interface Entry {
  email: string | null;
  count: number;
}

/** Reads a file, which may be compressed. Of a directory, returns an empty text. */
async function readText(file: string): Promise<string> {
  if ((await stat(file)).isDirectory()) return '';
  const bytes = await readFile(file);
  return (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1');
}

/** Returns the calls of an export by id. */
function documentsOf(lines: string): Documents {
  const records = lines.split('\n').filter(Boolean).map((line) => JSON.parse(line) as { type: string; id: string }); // prettier-ignore
  return new Map(records.filter(({ type }) => type === 'call').map((record) => [record.id, record]));
}

function hitsIn(documents: Documents): Hits {
  const hits: Hits = new Map();
  for (const document of documents.values()) countIn(document, '', hits);
  return hits;
}

/** Compares calls with those of the organization that never had the person. */
function compare(documents: Documents, expected: Documents): string[] {
  const problems: string[] = [];
  for (const id of new Set([...documents.keys(), ...expected.keys()])) {
    const [found, due] = [documents, expected].map((each) => comparable(each.get(id))) as [object, object];
    if (!isDeepStrictEqual(found, due))
      problems.push(`${id} is ${JSON.stringify(found)} instead of ${JSON.stringify(due)}`.slice(0, 500));
  }
  return problems;
}

function comparable(document: unknown): object | undefined {
  if (document === undefined) return undefined;
  const { organization: _, updated_at: _time, ...rest } = document as Record<string, unknown>;
  return rest;
}
