import { Database } from '@crs/kit/data/database';
import { credentialScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { openSession } from '@crs/testing/sql';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { appendChanges } from '../src/store/feed.ts';
import { listChanges } from '../src/store/list-changes.ts';
import { serviceDatabaseUrl } from './_clients.ts';

// Three transactions take their places and commit, and a follower reads twice in between, in every order. Whatever the order, the follower
// must end with all three changes.

/** `place 0`: the first writer takes its place, or waits for it. `commit 0`: it may commit. `read`: the follower reads on. */
type Step = { do: 'place' | 'commit'; writer: number } | { do: 'read' };

const WRITERS = 3;
const READS = 2;
const AT_ONCE = 8;

/** Every order in which each writer places before it commits. Writers are alike, so they place in the order of their numbers. */
function* orders(placed = 0, committed: readonly number[] = [], reads = 0): Generator<Step[]> {
  if (committed.length === WRITERS && reads === READS) yield [];
  const next: [Step, Generator<Step[]>][] = [];
  if (placed < WRITERS) next.push([{ do: 'place', writer: placed }, orders(placed + 1, committed, reads)]);
  for (let writer = 0; writer < placed; writer++) {
    if (!committed.includes(writer)) next.push([{ do: 'commit', writer }, orders(placed, [...committed, writer], reads)]);
  }
  if (reads < READS) next.push([{ do: 'read' }, orders(placed, committed, reads + 1)]);
  for (const [step, rest] of next) for (const others of rest) yield [step, ...others];
}

let created: TestDatabase;
let database: Database;
let tried = 0;

beforeAll(async () => {
  created = await createDatabase(inject('postgresUrl'), inject('template'));
  const log = createLogger('test', { level: 'silent' });
  const url = serviceDatabaseUrl({ databaseUrl: created.url });
  const options = { name: 'test', url, maxConnections: 4 * AT_ONCE, maxPerTenant: 4, pipeline: false };
  database = new Database({ ...options, log });
});
afterAll(async () => {
  await database?.close();
  await created?.drop();
});

/** @returns the calls that the follower has seen */
async function run(steps: Step[], writersWait: boolean): Promise<string[]> {
  const organization = `order-${++tried}`;
  const scope = () => credentialScope(organization, workFor(20_000));
  const seen: string[] = [];
  let place = 0;
  const read = async () => {
    const rows = await database.read(scope(), listChanges(organization, { after: place, deletedAfter: place, limit: 100 }));
    for (const row of rows) if (row.callId !== null) seen.push(row.callId);
    if (rows[0]) place = Number(rows[0].head);
  };
  const writers = Array.from({ length: WRITERS }, (_, writer) => {
    const [mayPlace, hasPlace, mayCommit] = [1, 2, 3].map(() => Promise.withResolvers<void>());
    const done = database.transact(scope(), async (query) => {
      await mayPlace!.promise;
      await appendChanges(query, organization, [{ callId: `call-${writer}`, changedAt: new Date(), deleted: false }], new Date());
      hasPlace!.resolve();
      await mayCommit!.promise;
    });
    done.catch(() => {});
    return { mayPlace: mayPlace!, hasPlace: hasPlace!, mayCommit: mayCommit!, done };
  });
  const waiting = new Set<number>();
  const released = new Set<number>();
  let holder: number | undefined;
  /** Waits until nothing moves without a further step: the writer that holds the lock may not commit yet, or there is none. */
  const settle = async () => {
    for (;;) {
      if (holder === undefined) {
        if (waiting.size === 0) return;
        holder = await Promise.race([...waiting].map((writer) => writers[writer]!.hasPlace.promise.then(() => writer)));
        waiting.delete(holder);
      }
      if (!released.has(holder)) return;
      await writers[holder]!.done;
      holder = undefined;
    }
  };
  for (const step of steps) {
    if (step.do === 'read') await read();
    else {
      const writer = writers[step.writer]!;
      if (step.do === 'place') {
        writer.mayPlace.resolve();
        waiting.add(step.writer);
        if (!writersWait) await writer.hasPlace.promise;
      } else {
        released.add(step.writer);
        writer.mayCommit.resolve();
        if (!writersWait) await writer.done;
      }
      if (writersWait) await settle();
    }
  }
  await Promise.all(writers.map(({ done }) => done));
  await read();
  return seen.toSorted();
}

/** @param most stops after so many @returns the orders after which the follower has not seen each change once */
async function wrongOrders(writersWait: boolean, most = Infinity): Promise<string[]> {
  const wrong: string[] = [];
  const left = [...orders()];
  expect(left.length).toBe(420);
  const work = async () => {
    for (let steps = left.pop(); steps && wrong.length < most; steps = left.pop()) {
      const seen = await run(steps, writersWait);
      const order = steps.map((step) => (step.do === 'read' ? 'read' : `${step.do} ${step.writer}`)).join(', ');
      if (seen.join() !== 'call-0,call-1,call-2') wrong.push(`${order}: ${seen.join()}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return wrong;
}

it('a follower sees each change once, in whatever order writers take places and commit', async () => {
  expect(await wrongOrders(true)).toEqual([]);
});

it('a follower would miss changes if places were taken without a lock', async () => {
  const session = await openSession(created.url);
  await session.query('create sequence calls.loose');
  await session.query('grant usage on calls.loose to crs_calls');
  await session.close();
  const stop = interceptStatements((statement) =>
    statement.name === 'take_places'
      ? {
          ...statement,
          name: 'loose_places',
          text: `select nextval('calls.loose') as position where $1 <> '' and $2::bytea is not null and $3::int > 0`,
        }
      : statement.name === 'list_changes'
        ? {
            ...statement,
            name: 'loose_list',
            text: statement.text.replaceAll(
              'calls.feeds f',
              `(select $1 as organization, ''::bytea as secret, 0::bigint as pruned, coalesce((select max(position) from calls.changes where organization = $1), 0) as position) f`,
            ),
          }
        : statement,
  );
  try {
    expect(await wrongOrders(false, 1)).not.toEqual([]);
  } finally {
    stop();
  }
});
