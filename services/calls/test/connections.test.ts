import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import * as column from '@crs/kit/data/column';
import { Database, type NoRow, type Statement } from '@crs/kit/data/database';
import { credentialScope, workFor, type Scope } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { openSession, type Session } from '@crs/testing/sql';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';

const log = createLogger('test', { level: 'silent' });
const LATE = { kind: 'deadline_exceeded', retryAfterSeconds: 1 };
/** The error of a statement that waited for a connection for four fifths of its time. */
const QUEUE_TIMEOUT = { kind: 'resource_exhausted' };
const UNAVAILABLE = { kind: 'unavailable', retryAfterSeconds: 1 };
/** An advisory lock that the superuser holds during all tests. */
const LOCK = 4711;

let superuser: Session;
let database: Database;

beforeAll(async () => {
  superuser = await openSession(inject('postgresUrl'));
  await superuser.query(`select pg_advisory_lock(${LOCK})`);
});
afterEach(() => database.close());
afterAll(() => superuser?.close());

const scope = (ms = 5_000, signal?: AbortSignal): Scope => credentialScope('acme', { ...workFor(ms), signal });
const PID = { name: 'pid', row: { pid: column.integer }, text: 'select pg_backend_pid() as pid' };
/** Waits for that lock until it is canceled. */
const BLOCKED = { name: 'blocked', text: `select pg_advisory_xact_lock_shared(${LOCK})` };
/** Expects a rejection. @returns the milliseconds until then */
async function failure(promise: Promise<unknown>, expected: object): Promise<number> {
  const started = performance.now();
  await expect(promise).rejects.toMatchObject(expected);
  return performance.now() - started;
}

describe.each([
  ['for one statement after another', false],
  ['for statements sent together', true],
])('the only connection, %s,', (_, pipeline) => {
  const open = (url = inject('postgresUrl')) => {
    database = new Database({ name: 'test', url, maxConnections: 1, log, pipeline });
  };
  const run = <Row = NoRow>(within: Scope, statement: Statement<Row>) =>
    pipeline ? database.read(within, statement) : database.transact(within, (query) => query(statement));
  const pid = async () => (await run(scope(), PID))[0]!.pid;

  it('is used again after success, and never after an error', async () => {
    open();
    const first = await pid();
    expect(await pid()).toBe(first);
    await expect(run(scope(), { name: 'bad', text: 'select 1 / 0' })).rejects.toThrow('division by zero');
    expect(await pid()).not.toBe(first);
  });

  it.each([
    ['could not find valid entry for shard 102057', { kind: 'aborted' }],
    ['another internal error', { code: 'XX000' }],
  ])('maps only the error of a Citus shard that was split meanwhile to a retryable conflict: %s', async (message, expected) => {
    open();
    const text = `do $$ begin raise exception using errcode = 'XX000', message = '${message}'; end $$`;
    await expect(run(scope(), { name: 'split', text, dynamic: true })).rejects.toMatchObject(expected);
  });

  it('is free again at the deadline of the caller that holds it', async () => {
    open();
    expect(await failure(run(scope(200), BLOCKED), LATE)).toBeLessThan(10_000);
    await pid();
  });

  it('makes no other caller wait past its own deadline', async () => {
    open();
    const controller = new AbortController();
    const working = failure(run(scope(15_000, controller.signal), BLOCKED), LATE);
    expect(await failure(run(scope(200), PID), QUEUE_TIMEOUT)).toBeLessThan(10_000);
    controller.abort();
    await working;
  });

  it('is abandoned at the deadline if the server no longer responds', async () => {
    const { url, silence, close } = await proxy(inject('postgresUrl'));
    open(url);
    try {
      await pid();
      silence();
      expect(await failure(run(scope(200), PID), LATE)).toBeLessThan(10_000);
    } finally {
      close();
    }
  });

  it('is free again as soon as its caller has canceled, and so is a position in the queue', async () => {
    open();
    const [first, second] = [new AbortController(), new AbortController()];
    const working = failure(run(scope(15_000, first.signal), BLOCKED), LATE);
    const waiting = failure(run(scope(15_000, second.signal), BLOCKED), LATE);
    setTimeout(() => second.abort(), 50);
    expect(await waiting).toBeLessThan(10_000);
    first.abort();
    expect(await working).toBeLessThan(10_000);
    await pid();
  });

  it('is not opened for a caller that has canceled or whose deadline has passed', async () => {
    open('postgres://nobody@127.0.0.1:1/none');
    await failure(run(scope(5_000, AbortSignal.abort()), PID), LATE);
    await failure(run(scope(0), PID), LATE);
    await failure(run(scope(), PID), UNAVAILABLE);
  });

  it('is replaced if it breaks between two statements, and the transaction fails as unavailable', async () => {
    open();
    const work = database.transact(scope(), async (query) => {
      const [row] = await query<{ pid: number }>(PID);
      await superuser.query('select pg_terminate_backend($1::int, 1000)', [row!.pid]);
      return query(PID);
    });
    await failure(work, UNAVAILABLE);
    await pid();
  });

  it('is replaced if it is reset during a statement, and the statement fails as unavailable', async () => {
    const { url, cut, close } = await proxy(inject('postgresUrl'));
    open(url);
    try {
      await pid();
      const work = failure(run(scope(), BLOCKED), UNAVAILABLE);
      setTimeout(cut, 50);
      expect(await work).toBeLessThan(4_000);
      await pid();
    } finally {
      close();
    }
  });
});

/** A TCP proxy that can reset its connections (`cut`), or stop forwarding without closing them (`silence`). */
async function proxy(target: string): Promise<{ url: string; cut: () => void; silence: () => void; close: () => void }> {
  const { hostname, port } = new URL(target);
  let sockets: Socket[] = [];
  const server = createServer((socket) => {
    const onward = connect(Number(port), hostname);
    sockets.push(socket, onward);
    for (const each of [socket, onward]) each.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
    sockets = [];
  };
  const silence = () => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  return {
    url: url.href,
    cut,
    silence,
    close: () => {
      cut();
      server.close();
    },
  };
}
