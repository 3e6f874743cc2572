import { Database } from '@crs/kit/data/database';
import { credentialScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { openSession } from '@crs/testing/sql';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { feed } from '../src/store/feed.ts';
import { serviceDatabaseUrl } from './_clients.ts';

// Three transactions each take a position in the feed and commit, and a follower reads twice meanwhile. Runs every order of these steps. A
// transaction that commits after one with a higher position must not be missed, so the follower must always end with all three changes.

/** `position 0`: the first writer takes its position, or waits for it. `commit 0`: it may commit. `read`: the follower reads on. */
type Step = { do: 'position' | 'commit'; writer: number } | { do: 'read' };

const WRITERS = 3;
const READS = 2;
const CONCURRENT_RUNS = 8;

/** Yields every order in which each writer takes its position before it commits. Writers are alike, so they do so in the order of their numbers. */
function* orders(positioned = 0, committed: readonly number[] = [], reads = 0): Generator<Step[]> {
  if (committed.length === WRITERS && reads === READS) yield [];
  const next: [Step, Generator<Step[]>][] = [];
  if (positioned < WRITERS) next.push([{ do: 'position', writer: positioned }, orders(positioned + 1, committed, reads)]);
  for (let writer = 0; writer < positioned; writer++) {
    if (!committed.includes(writer)) next.push([{ do: 'commit', writer }, orders(positioned, [...committed, writer], reads)]);
  }
  if (reads < READS) next.push([{ do: 'read' }, orders(positioned, committed, reads + 1)]);
  for (const [step, rest] of next) for (const others of rest) yield [step, ...others];
}

let created: TestDatabase;
let database: Database;
let runCount = 0;

beforeAll(async () => {
  created = await createDatabase(inject('postgresUrl'), inject('template'));
  const log = createLogger('test', { level: 'silent' });
  const url = serviceDatabaseUrl({ databaseUrl: created.url });
  const options = { name: 'test', url, maxConnections: 4 * CONCURRENT_RUNS, maxPerTenant: 4, pipeline: false };
  database = new Database({ ...options, log });
});
afterAll(async () => {
  await database?.close();
  await created?.drop();
});

/** Runs the steps in a new organization. @returns the ids of the changes that the follower has read, sorted */
async function run(steps: Step[], writersWait: boolean): Promise<string[]> {
  const organization = `order-${++runCount}`;
  const scope = () => credentialScope(organization, workFor(20_000));
  const seen: string[] = [];
  let position = 0;
  const read = async () => {
    const rows = await database.read(scope(), feed.list(organization, { after: position, deletedAfter: position, limit: 100 }));
    for (const row of rows) if (row.recordId !== null) seen.push(row.recordId);
    if (rows[0]) position = Number(rows[0].head);
  };
  const writers = Array.from({ length: WRITERS }, (_, writer) => {
    const [mayTakePosition, hasPosition, mayCommit] = [1, 2, 3].map(() => Promise.withResolvers<void>());
    const done = database.transact(scope(), async (query) => {
      await mayTakePosition!.promise;
      await feed.append(query, organization, [{ recordId: `call-${writer}`, changedAt: new Date(), deleted: false }], new Date());
      hasPosition!.resolve();
      await mayCommit!.promise;
    });
    done.catch(() => {});
    return { mayTakePosition: mayTakePosition!, hasPosition: hasPosition!, mayCommit: mayCommit!, done };
  });
  const waiting = new Set<number>();
  const released = new Set<number>();
  let holder: number | undefined;
  /** Waits until no writer can proceed without a further step: the one that holds the lock may not commit yet, or none holds it. */
  const settle = async () => {
    for (;;) {
      if (holder === undefined) {
        if (waiting.size === 0) return;
        holder = await Promise.race([...waiting].map((writer) => writers[writer]!.hasPosition.promise.then(() => writer)));
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
      if (step.do === 'position') {
        writer.mayTakePosition.resolve();
        waiting.add(step.writer);
        if (!writersWait) await writer.hasPosition.promise;
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

/** Runs every order, or until `limit` are wrong. @returns the orders after which the follower has not read each change exactly once */
async function wrongOrders(writersWait: boolean, limit = Infinity): Promise<string[]> {
  const wrong: string[] = [];
  const left = [...orders()];
  expect(left.length).toBe(420);
  const work = async () => {
    for (let steps = left.pop(); steps && wrong.length < limit; steps = left.pop()) {
      const seen = await run(steps, writersWait);
      const order = steps.map((step) => (step.do === 'read' ? 'read' : `${step.do} ${step.writer}`)).join(', ');
      if (seen.join() !== 'call-0,call-1,call-2') wrong.push(`${order}: ${seen.join()}`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_RUNS }, work));
  return wrong;
}

it('a follower reads each change once, in whatever order writers take their positions and commit', async () => {
  expect(await wrongOrders(true)).toEqual([]);
});

it('a follower would miss changes if writers took their positions without a lock', async () => {
  const session = await openSession(created.url);
  await session.query('create sequence calls.loose');
  await session.query('grant usage on calls.loose to crs_calls');
  await session.close();
  const head = `(select $1 as organization, ''::bytea as secret, 0::bigint as pruned, coalesce((select max(position) from calls.changes where organization = $1), 0) as position) f`;
  const loose: Record<string, (text: string) => string> = {
    take_places: () => `select nextval('calls.loose') as position where $1 <> '' and $2::bytea is not null and $3::int > 0`,
    // Writers would wait for each other at this row, too.
    put_feed_head: () => `select where $1 <> '' and $2::bigint > 0 and $3::timestamptz is not null`,
    list_changes: (text) => text.replaceAll('calls.feeds f', head),
  };
  const stop = interceptStatements((statement) => {
    const loosen = loose[statement.name ?? ''];
    return loosen ? { ...statement, name: `loose_${statement.name}`, text: loosen(statement.text) } : statement;
  });
  try {
    expect(await wrongOrders(false, 1)).not.toEqual([]);
  } finally {
    stop();
  }
});
