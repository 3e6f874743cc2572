import { context } from '@opentelemetry/api';
import { LRUCache } from 'lru-cache';
import { defaults, escapeLiteral, Pool, types, type CustomTypesConfig, type FieldDef, type PoolClient } from 'pg';
import parseDate from 'postgres-date';
import { deadlineExceeded, REASONS, ServiceError, unavailable } from '../errors.ts';
import type { Logger } from '../process/log.ts';
import { FairQueue } from '../limits/fair-queue.ts';
import { inSpan, meter, observeGauge, SpanKind, tracer } from '../process/telemetry.ts';
import { integer, type Column, type Columns } from './column.ts';
import { connectionTo } from './connection.ts';
import { errorType, translate } from './database-errors.ts';
import { allOrFirstError, inOnePacket, send, socketOf } from './exchange.ts';
import { directoryScope, EVERY_ORGANIZATION, workFor, type Scope } from './scope.ts';

/** A statement and the rows that it returns. `name` is its identity in the pool, in traces and in metrics. */
export interface Statement<Row = NoRow> {
  name: string;
  text: string;
  values?: readonly unknown[];
  /** The columns of the answer: compared with PostgreSQL's own description of them when the statement first runs. */
  row?: Columns<Row>;
  /** The text varies, so it can't be prepared under its name. */
  dynamic?: boolean;
  /** True: PostgreSQL makes one plan for all values. False: one for each execution. Else it chooses after some executions. `transact` ignores it. */
  plannedOnce?: boolean;
}

/** The row of a statement that declares none. */
export type NoRow = Record<string, never>;

/** Runs a statement in the transaction. */
export type Query = <Row = NoRow>(statement: Statement<Row>) => Promise<Row[]>;

export interface DatabaseOptions {
  /** Name of the service, for metrics. */
  name: string;
  url: string;
  /** A file that each new connection reads its password from, such as a token of a cloud that ends after minutes. */
  passwordFile?: string | undefined;
  maxConnections: number;
  /** The connections that may work for one organization at once. By default half of all, rounded up. */
  maxPerTenant?: number;
  log: Logger;
  /** Sends statements without waiting for earlier answers. Such a pool refuses COPY and cursors. */
  pipeline: boolean;
  /** The pool that finds the nodes of Citus; by default this one, if it has `pipeline`. */
  finder?: Database;
}

// The driver would write dates in local time. Its format has no place for the seconds that the offset of a local time had in the 19th century.
defaults.parseInputDatesAsUTC = true;

/** A page of a user's calls holds up to 300 timestamps, and this parser takes a quarter of the time of the driver's own. */
const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.TIMESTAMPTZ ? parseDate : types.getTypeParser(oid, format)),
};

/**
 * The number of statements that may wait for a connection, for one organization and in all. A statement behind a longer queue would miss its
 * deadline. Statements that belong to no organization share one queue. Thousands of them may check credentials in the same second.
 */
const WAITING = { waitingPerKey: 2_000, waitingTotal: 5_000 };

/** The part of the connections that may work for the organizations on one node of Citus. The rest is for the others while that node hangs. */
const PART_OF_NODE = 0.75;

/** Organizations move seldom. Meanwhile they share the part of their earlier node. */
const NODES = { max: 100_000, ttl: 60_000, allowStale: true };
const FIND_NODE_MS = 2_000;
/** All tables have an organization's rows on the same node. */
const FIND_NODE = {
  name: 'find-node',
  row: { node: integer },
  text: `select groupid as node from pg_dist_placement where shardid = (
    select get_shard_id_for_distribution_column(logicalrelid, $1::text) from pg_dist_partition
      where partmethod = 'h' and has_table_privilege(logicalrelid, 'select') limit 1)`,
};

/** A server that has answered some statement within this time is alive, even where another statement gets no answer. */
const ALIVE_MS = 1_000;

/** The server cancels a statement this long before the caller's deadline. Its answer then shows that the statement was slow, not that the server was silent. */
const MARGIN_MS = 20;

/**
 * The connections of a service to PostgreSQL. All work happens in a transaction, which sets the organization for row-level security and a time
 * limit for its statements. After any error, cancellation or deadline, the connection is destroyed, which rolls the transaction back.
 */
export class Database {
  readonly #pool: Pool;
  /** Shares the pool between organizations. The pool's own queue is one for all of them, and unbounded. */
  readonly #turns: FairQueue;
  readonly #spans = tracer('database');
  readonly #duration = meter('database').createHistogram('db.client.operation.duration', {
    unit: 's',
    description: 'Time of a statement.',
  });
  /** Names of the statements whose declared rows were compared with the returned ones. */
  readonly #checked = new Set<string>();
  readonly #closeMetrics: () => void;
  readonly #finder: Database;
  /** Undefined until a connection tells it. */
  #isCitus: boolean | undefined;
  /** The nodes of Citus with the rows of the organizations. */
  readonly #nodes = new LRUCache<string, string>({ ...NODES, fetchMethod: (organization) => this.#findNode(organization) });
  /** When the server last answered a statement, in epoch milliseconds. */
  #answeredAt = 0;

  constructor(options: DatabaseOptions) {
    const { name, url, passwordFile, maxConnections, maxPerTenant = Math.ceil(maxConnections / 2), log, pipeline } = options;
    this.#finder = options.finder ?? this;
    this.#turns = new FairQueue({
      name: `${name}-database`,
      perKey: maxPerTenant,
      perGroup: Math.max(1, Math.floor(maxConnections * PART_OF_NODE)),
      total: maxConnections,
      ...WAITING,
    });
    this.#pool = new Pool({
      ...connectionTo(url, passwordFile),
      max: maxConnections,
      application_name: `crs-${name}`,
      pipeline,
      types: TYPES,
      idleTimeoutMillis: 60_000,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    // A connection that breaks in use fails its statements. Without this listener, its `error` event would end the process.
    this.#pool.on('connect', (client) => {
      client.on('error', () => {});
      if (pipeline) this.#look(client);
    });
    // An idle connection that breaks is replaced on next use.
    this.#pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection broke'));
    const description = 'Connections by state.';
    this.#closeMetrics = observeGauge('database', 'db.client.connection.count', { description }, (result) => {
      const pool = { 'db.client.connection.pool.name': name };
      result.observe(this.#pool.idleCount, { ...pool, 'db.client.connection.state': 'idle' });
      result.observe(this.#pool.totalCount - this.#pool.idleCount, { ...pool, 'db.client.connection.state': 'used' });
      result.observe(this.#pool.waitingCount, { ...pool, 'db.client.connection.state': 'waiting' });
    });
  }

  /** One statement in a transaction of its own that can't write, in a single round trip on a pipelined pool. */
  read<Row = NoRow>(scope: Scope, statement: Statement<Row>): Promise<Row[]> {
    return this.#alone('begin read only', scope, statement);
  }

  /** One statement in a transaction of its own, in a single round trip on a pipelined pool. */
  run<Row = NoRow>(scope: Scope, statement: Statement<Row>): Promise<Row[]> {
    return this.#alone('begin', scope, statement);
  }

  /**
   * A transaction: committed when `work` resolves, rolled back when it throws. `work` may send statements side by side. It also gets the
   * connection, for commands such as COPY, which need a pool without `pipeline`.
   */
  transact<T>(scope: Scope, work: (query: Query, connection: PoolClient) => Promise<T>): Promise<T> {
    return this.#transact(scope, 'commit', work);
  }

  /** A transaction that is rolled back also when `work` resolves. */
  rehearse<T>(scope: Scope, work: (query: Query, connection: PoolClient) => Promise<T>): Promise<T> {
    return this.#transact(scope, 'rollback', work);
  }

  #transact<T>(scope: Scope, end: 'commit' | 'rollback', work: (query: Query, connection: PoolClient) => Promise<T>): Promise<T> {
    return this.#use(scope, async (client) => {
      await allOrFirstError(inOnePacket(client, () => [send(client, 'begin'), send(client, settings(scope))] as const));
      const result = await work((statement) => this.#run(client, statement), client);
      await send(client, end);
      return result;
    });
  }

  /** The node of Citus with the rows of a scope; undefined where they are on the coordinator or on all nodes, and on plain PostgreSQL. */
  nodeOf({ organization }: Scope): Promise<string | undefined> | undefined {
    if (this.#isCitus !== true || organization === '' || organization === EVERY_ORGANIZATION) return undefined;
    // The coordinator knows it, so this waits for no node.
    return this.#nodes.fetch(organization);
  }

  async close(): Promise<void> {
    this.#closeMetrics();
    this.#turns.close();
    await this.#pool.end();
  }

  #alone<Row>(begin: string, scope: Scope, statement: Statement<Row>): Promise<Row[]> {
    return this.#use(scope, async (client) => {
      const sent = inOnePacket(
        client,
        () =>
          [
            send(client, begin),
            // Citus plans for the values, as the organization decides which node runs the statement.
            send(client, settings(scope, statement.plannedOnce && this.#isCitus !== false ? undefined : statement.plannedOnce)),
            this.#run(client, statement),
            send(client, 'commit'),
          ] as const,
      );
      const [, , rows] = await allOrFirstError(sent);
      return rows;
    });
  }

  /** Learns from a new connection whether this is Citus. */
  #look(client: PoolClient): void {
    client.query(`select current_setting('citus.propagate_set_commands', true) is not null as "isCitus"`).then(
      ({ rows: [row] }) => (this.#isCitus = row.isCitus),
      // The work that the connection is for meets the same error.
      () => {},
    );
  }

  #run<Row>(client: PoolClient, statement: Statement<Row>): Promise<Row[]> {
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': statement.name };
    const started = performance.now();
    return inSpan(
      this.#spans,
      statement.name,
      { kind: SpanKind.CLIENT, attributes: { ...attributes, 'db.query.text': statement.text } },
      context.active(),
      async () => {
        let failure: { 'error.type'?: string } = {};
        try {
          const { rows, fields } = await send(client, {
            ...(!statement.dynamic && { name: statement.name }),
            text: statement.text,
            values: [...(statement.values ?? [])],
          });
          this.#answeredAt = Date.now();
          if (statement.row && !this.#checked.has(statement.name)) this.#check(statement.name, statement.row, fields);
          return rows as Row[];
        } catch (error) {
          failure = { 'error.type': errorType(error) };
          throw error;
        } finally {
          this.#duration.record((performance.now() - started) / 1000, { ...attributes, ...failure });
        }
      },
    );
  }

  /** @throws Error where the statement returns other columns than it declares */
  #check(name: string, row: object, fields: FieldDef[]): void {
    const declared = new Map<string, Column<unknown>>(Object.entries(row));
    const fits = fields.every((field) => declared.get(field.name)?.oids.includes(field.dataTypeID));
    if (!fits || declared.size !== fields.length) {
      const returned = fields.map((field) => `${field.name} (type ${field.dataTypeID})`);
      throw new Error(`The statement ${name} returns ${returned.join(', ')}, but declares ${[...declared.keys()].join(', ')}.`);
    }
    this.#checked.add(name);
  }

  async #use<T>(scope: Scope, work: (client: PoolClient) => Promise<T>): Promise<T> {
    if (scope.deadline <= Date.now()) throw deadlineExceeded();
    const finding = this.#finder.nodeOf(scope);
    const node = finding && (await finding);
    const release = await this.#turns.acquire(scope.organization, scope, node);
    try {
      return await this.#useNow(scope, work);
    } finally {
      release();
    }
  }

  async #findNode(organization: string): Promise<string> {
    try {
      const [row] = await this.read(directoryScope(workFor(FIND_NODE_MS)), { ...FIND_NODE, values: [organization] });
      return String(row!.node);
    } catch {
      // The database is not spread yet, or the work that asked meets the same error.
      return 'unknown';
    }
  }

  async #useNow<T>(scope: Scope, work: (client: PoolClient) => Promise<T>): Promise<T> {
    if (scope.signal?.aborted) throw deadlineExceeded();
    // When the caller gives up, the work must neither hold a connection nor wait for one.
    const stopped = Promise.withResolvers<never>();
    const stop = () => stopped.reject(scope.signal?.reason instanceof ServiceError ? scope.signal.reason : this.#late());
    const timer = setTimeout(stop, scope.deadline - Date.now());
    scope.signal?.addEventListener('abort', stop, { once: true });
    try {
      const client = await this.#acquire(stopped.promise);
      let broken = true;
      try {
        const result = await Promise.race([work(client), stopped.promise]);
        broken = false;
        return result;
      } catch (error) {
        throw translate(error);
      } finally {
        client.release(broken);
        // Without this, the released client would wait for the answers that are still on their way.
        if (broken) socketOf(client).destroy();
      }
    } finally {
      clearTimeout(timer);
      scope.signal?.removeEventListener('abort', stop);
    }
  }

  /** The error of work without an answer: the fault of the server only while it answers nobody. Of Citus, one node may be silent. */
  #late(): ServiceError {
    return deadlineExceeded(undefined, Date.now() - this.#answeredAt < ALIVE_MS ? REASONS.slowWork : undefined);
  }

  async #acquire(stopped: Promise<never>): Promise<PoolClient> {
    const pending = this.#pool.connect();
    const started = performance.now();
    try {
      return await Promise.race([pending, stopped]);
    } catch (error) {
      pending.then(
        (unused) => unused.release(),
        () => {},
      );
      if (error instanceof ServiceError) throw error;
      const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': 'connect', 'error.type': errorType(error) };
      this.#duration.record((performance.now() - started) / 1000, attributes);
      throw unavailable('The database is not available.', error);
    }
  }
}

/**
 * Sets the organization for row-level security and the time limit of each statement. With `client_connection_check_interval`, a server that waits for
 * a lock notices that its client is gone. Citus passes `set local` on to the nodes, but not `set_config`, and only apart from `begin`.
 */
function settings(scope: Scope, plannedOnce?: boolean) {
  const timeoutMs = Math.max(1, Math.trunc(scope.deadline - MARGIN_MS - Date.now()));
  const plan = plannedOnce === undefined ? '' : `; set local plan_cache_mode = force_${plannedOnce ? 'generic' : 'custom'}_plan`;
  const text = `set local app.organization_id = ${escapeLiteral(scope.organization)}; set local statement_timeout = ${timeoutMs};
    set local client_connection_check_interval = '1s'${plan}`;
  return { text };
}
