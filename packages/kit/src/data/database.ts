import { defaults, escapeLiteral, type FieldDef, type PoolClient } from 'pg';
import { deadlineExceeded } from '../errors.ts';
import { FairQueue } from '../limits/fair-queue.ts';
import { failSpan, SpanKind, tracer } from '../process/telemetry.ts';
import { FIND_NODE, NodeQueues } from './citus-nodes.ts';
import type { Column, Columns } from './column.ts';
import { errorType } from './database-errors.ts';
import { allOrFirstError, corked, ConnectionPool, operationDuration, type PoolOptions, send } from './pool.ts';
import { directoryScope, workFor, type Scope } from './scope.ts';

/** A statement and the rows that it returns. `name` identifies it as a prepared statement, in traces and in metrics. */
export interface Statement<Row = NoRow> {
  name: string;
  text: string;
  values?: readonly unknown[];
  /** The columns of the result, compared with PostgreSQL's own description of them on the first run. */
  row?: Columns<Row>;
  /** The text varies, so it can't be prepared under its name. */
  dynamic?: boolean;
  /** True: one generic plan. False: a custom plan for each execution. Absent: PostgreSQL chooses. `transact` ignores it. */
  plannedOnce?: boolean;
}

export type NoRow = Record<string, never>;

/** Runs a statement in the transaction. */
export type Query = <Row = NoRow>(statement: Statement<Row>) => Promise<Row[]>;

export interface DatabaseOptions extends PoolOptions {
  /** Connections that one organization may use at once. By default half of all, rounded up. */
  maxPerTenant?: number;
}

// The driver would write dates in local time, and can't express 19th-century UTC offsets, which had seconds.
defaults.parseInputDatesAsUTC = true;

/**
 * Bounds of the queues for connections. A statement behind a longer queue would miss its deadline. Statements without an organization share one
 * queue; thousands of them may check credentials in the same second.
 */
const QUEUE_BOUNDS = { waitingPerKey: 2_000, waitingTotal: 5_000 };

const FIND_NODE_TIMEOUT_MS = 2_000;

/** The server cancels a statement this long before the caller's deadline, so that its error distinguishes a slow statement from a stalled server. */
const MARGIN_MS = 20;

/**
 * The connections of a service to PostgreSQL. All work happens in transactions, which set the organization for row-level security and a timeout for
 * their statements.
 */
export class Database {
  readonly #pool: ConnectionPool;
  /** Shares the pool between organizations. The pool's own queue would be first come, first served, and unbounded. */
  readonly #queue: FairQueue;
  /** Only on Citus, because the cache of organizations takes megabytes. */
  #nodes: NodeQueues | undefined;
  readonly #createNodes: () => NodeQueues;
  readonly #spans = tracer('database');
  readonly #duration = operationDuration();
  /** Names of the statements whose declared columns were compared with the returned ones. */
  readonly #checked = new Set<string>();

  constructor(options: DatabaseOptions) {
    const { name, maxConnections, maxPerTenant = Math.ceil(maxConnections / 2) } = options;
    const sizes = { name: `${name}-database`, perKey: maxPerTenant, total: maxConnections, ...QUEUE_BOUNDS };
    this.#pool = new ConnectionPool(options);
    this.#queue = new FairQueue(sizes);
    this.#createNodes = () => new NodeQueues(sizes, (organization) => this.#findNode(organization));
  }

  /** Runs one statement in a read-only transaction, in a single round trip on a pipelined pool. */
  read<Row = NoRow>(scope: Scope, statement: Statement<Row>): Promise<Row[]> {
    return this.#runAlone('begin read only', scope, statement);
  }

  /** Runs one statement in its own transaction, in a single round trip on a pipelined pool. */
  run<Row = NoRow>(scope: Scope, statement: Statement<Row>): Promise<Row[]> {
    return this.#runAlone('begin', scope, statement);
  }

  /**
   * Runs a transaction, committed when `work` resolves and rolled back when it throws. `work` may send statements concurrently. It also gets the
   * connection, for commands such as COPY, which need a pool without `pipeline`.
   */
  transact<T>(scope: Scope, work: (query: Query, connection: PoolClient) => Promise<T>): Promise<T> {
    return this.#use(scope, async (client) => {
      await allOrFirstError(corked(client, () => [send(client, 'begin'), send(client, settings(scope))] as const));
      const result = await work((statement) => this.#run(client, statement), client);
      await send(client, 'commit');
      return result;
    });
  }

  async close(): Promise<void> {
    this.#queue.close();
    this.#nodes?.close();
    await this.#pool.close();
  }

  #runAlone<Row>(begin: string, scope: Scope, statement: Statement<Row>): Promise<Row[]> {
    return this.#use(scope, async (client) => {
      // Citus needs the value of the organization to route the statement to one node.
      const plannedOnce = statement.plannedOnce && this.#pool.isCitus ? undefined : statement.plannedOnce;
      const sent = corked(
        client,
        () =>
          [
            send(client, begin),
            send(client, settings(scope, plannedOnce)),
            this.#run(client, statement),
            send(client, 'commit'),
          ] as const,
      );
      const [, , rows] = await allOrFirstError(sent);
      return rows;
    });
  }

  /** Sends the statement synchronously, so that {@link corked} can send several together. */
  async #run<Row>(client: PoolClient, { name, text, values = [], row, dynamic }: Statement<Row>): Promise<Row[]> {
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
    const span = this.#spans.startSpan(name, { kind: SpanKind.CLIENT, attributes: { ...attributes, 'db.query.text': text } });
    const started = performance.now();
    let failure: { 'error.type'?: string } = {};
    try {
      const { rows, fields } = await send(client, { ...(!dynamic && { name }), text, values: [...values] });
      if (row && !this.#checked.has(name)) this.#check(name, row, fields);
      return rows as Row[];
    } catch (error) {
      failure = { 'error.type': errorType(error) };
      failSpan(span, error);
      throw error;
    } finally {
      this.#duration.record((performance.now() - started) / 1000, { ...attributes, ...failure });
      span.end();
    }
  }

  /** @throws Error if the statement returns other columns than it declares */
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
    const releaseNode = this.#pool.isCitus ? await (this.#nodes ??= this.#createNodes()).acquire(scope) : undefined;
    try {
      const release = await this.#queue.acquire(scope.organization, scope);
      try {
        return await this.#pool.use(scope, work);
      } finally {
        release();
      }
    } finally {
      releaseNode?.();
    }
  }

  async #findNode(organization: string): Promise<string> {
    try {
      const statement = { ...FIND_NODE, values: [organization] };
      const [row] = await this.transact(directoryScope(workFor(FIND_NODE_TIMEOUT_MS)), (query) => query(statement));
      return String(row!.node);
    } catch {
      // The tables aren't distributed yet, or the caller's statement will meet the same error.
      return 'unknown';
    }
  }
}

/**
 * Sets the organization for row-level security and the statement timeout. `client_connection_check_interval` lets a server that waits for a lock notice
 * that its client has disconnected. Citus propagates `set local`, but not `set_config`, and only if it is sent separately from `begin`.
 */
function settings(scope: Scope, plannedOnce?: boolean) {
  const timeoutMs = Math.max(1, Math.trunc(scope.deadline - MARGIN_MS - Date.now()));
  const plan = plannedOnce === undefined ? '' : `; set local plan_cache_mode = force_${plannedOnce ? 'generic' : 'custom'}_plan`;
  const text = `set local app.organization_id = ${escapeLiteral(scope.organization)}; set local statement_timeout = ${timeoutMs};
    set local client_connection_check_interval = '1s'${plan}`;
  return { text };
}
