/** Runs an erasure, or a replay of erasures, and kills what it depends on between any two of its steps. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Processes } from '@crs/testing/processes';
import pg from 'pg';
import { startCrs, type Command } from './crs.ts';

/** An advisory lock that each step needs just before it commits. */
const LOCK = 42;
const MAX_RUNS = 200;

/** Creates the trigger by which {@link Gate} blocks steps. A restored database lacks it. */
export async function letStepsBeBlocked(databaseUrl: string): Promise<void> {
  const gate = await Gate.open(databaseUrl);
  await gate.query(`create function public.block_step() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(${LOCK}); return new; end $$`);
  await gate.query(`create trigger block_step before update on calls.erasures for each row
    when (new.reached is distinct from '') execute function public.block_step()`);
  await gate.close();
}

/** Holds the lock, so that no step commits. */
class Gate {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Waits for a database that recovers from a kill. */
  static async open(databaseUrl: string): Promise<Gate> {
    for (let tries = 1; ; tries++) {
      const client = new pg.Client({ connectionString: databaseUrl });
      // A kill of PostgreSQL ends the connection.
      client.on('error', () => {});
      try {
        await client.connect();
        await client.query('select pg_advisory_lock($1)', [LOCK]);
        return new Gate(client);
      } catch (error) {
        if (tries === 300) throw error;
        await sleep(100);
      }
    }
  }

  async query<Row extends object>(text: string): Promise<Row[]> {
    return (await this.#client.query<Row>(text)).rows;
  }

  /** Waits for a blocked step. @returns the process id of its connection; undefined once the command has ended */
  async nextStep(command: Command): Promise<number | undefined> {
    for (;;) {
      const hasEnded = command.hasEnded();
      const [waiter] = await this.query<{ pid: number }>(
        `select pid from pg_locks where locktype = 'advisory' and objid = ${LOCK} and mode = 'ShareLock' and not granted`,
      );
      if (waiter) return waiter.pid;
      if (hasEnded) return undefined;
      await sleep(20);
    }
  }

  /** Lets the blocked step end. The lock is this connection's again before the next step, which queues behind it. */
  async letOneEnd(): Promise<void> {
    await this.query(`select pg_advisory_unlock(${LOCK}), pg_advisory_lock(${LOCK})`);
  }

  /** Returns the erasure that is under way, and the call that it has reached. */
  async place(): Promise<{ id: string; place: string }> {
    const [row] = await this.query<{ id: string; place: string }>(
      `select erasure_id::text as id, erasure_id || ' ' || reached as place from calls.erasures
        where reached is not null order by at desc limit 1`,
    );
    return row ?? { id: '', place: '' };
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}

export interface Result {
  /** What the last run of the command printed. */
  json: unknown;
  runs: number;
  /** The number of places between two steps at which everything was killed. */
  places: number;
}

/**
 * Runs a command, and kills the calls service, PostgreSQL and the command itself in each step, before it commits. A command that was killed, or failed
 * because of a kill, is run again. A kill of `crs` may come after the last commit: then the next run begins another erasure, which isn't disturbed.
 */
export async function runThroughKills(processes: Processes, databaseUrl: string, args: string[]): Promise<Result> {
  let gate = await Gate.open(databaseUrl);
  let command = startCrs(processes, args);
  let runs = 1;
  const again = () => {
    if (++runs > MAX_RUNS) throw new Error(`crs ${args.join(' ')} didn't succeed in ${MAX_RUNS} runs`);
    command = startCrs(processes, args);
  };
  const isReplay = args[0] === 'erasures';
  const attacked = new Set<string>();
  let first: string | undefined;
  const killers = {
    calls: async () => {
      await processes.kill('calls');
      // The connection that is left behind finds its client gone, and rolls back.
      await gate.letOneEnd();
      await processes.start('calls');
    },
    postgres: async (pid: number) => {
      await command.kill();
      // PostgreSQL then ends all connections, and recovers.
      process.kill(pid, 'SIGKILL');
      await sleep(100);
      gate = await Gate.open(databaseUrl);
      again();
    },
    crs: async () => {
      await command.kill();
      await gate.letOneEnd();
      again();
    },
  };
  /** Returns the process id of the connection whose step is blocked; undefined once the command has succeeded. */
  const blockedStep = async (): Promise<number | undefined> => {
    for (;;) {
      const pid = await gate.nextStep(command);
      if (pid !== undefined) return pid;
      const { status, stderr } = await command.ended;
      if (status === 0) return undefined;
      if (!/unavailable|deadline|internal|aborted/.test(stderr)) throw new Error(`crs ${args.join(' ')}: ${stderr}`);
      again();
    }
  };
  try {
    while ((await blockedStep()) !== undefined) {
      const { id, place } = await gate.place();
      first ??= id;
      if (attacked.has(place) || !(isReplay || id === first)) {
        await gate.letOneEnd();
        continue;
      }
      attacked.add(place);
      for (const kill of Object.values(killers)) {
        const pid = await blockedStep();
        if (pid !== undefined) await kill(pid);
      }
    }
    return { json: JSON.parse((await command.ended).stdout), runs, places: attacked.size };
  } finally {
    if (!command.hasEnded()) await command.kill();
    await gate.close();
  }
}
