import { defaults, escapeLiteral, type FieldDef, type PoolClient } from 'pg';
import { deadlineExceeded } from '../errors.ts';
import { FairQueue } from '../limits/fair-queue.ts';
import { failSpan, SpanKind, tracer } from '../process/telemetry.ts';
import { FIND_NODE, NodeQueues } from './citus-nodes.ts';
import type { Column, Columns } from './column.ts';
import { errorType } from './database-errors.ts';
import { allOrFirstError, corked, send } from './pipeline.ts';
import { ConnectionPool, operationDuration, type PoolOptions } from './pool.ts';
import { directoryScope, workFor, type Scope } from './scope.ts';

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

export interface DatabaseOptions extends PoolOptions {
  /** The connections that may work for one organization at once. By default half of all, rounded up. */
  maxPerTenant?: number;
}

// The driver would write dates in local time. Its format has no place for the seconds that the offset of a local time had in the 19th century.
defaults.parseInputDatesAsUTC = true;

/**
 * The number of statements that may wait for a connection, for one organization and in all. A statement behind a longer queue would miss its
 * deadline. Statements that belong to no organization share one queue. Thousands of them may check credentials in the same second.
 */
const WAITING = { waitingPerKey: 2_000, waitingTotal: 5_000 };

const FIND_NODE_MS = 2_000;

/** The server cancels a statement this long before the caller's deadline. Its answer then shows that the statement was slow, not that the server was silent. */
const MARGIN_MS = 20;

/**
 * The connections of a service to PostgreSQL. All work happens in a transaction, which sets the organization for row-level security and a time
 * limit for its statements.
 */
export class Database {
  readonly #pool: ConnectionPool;
  /** Shares the pool between organizations. The pool's own queue is one for all of them, and unbounded. */
  readonly #turns: FairQueue;
  /** Shares the turns between the nodes of Citus. */
  readonly #nodes: NodeQueues;
  readonly #spans = tracer('database');
  readonly #duration = operationDuration();
  /** Names of the statements whose declared rows were compared with the returned ones. */
  readonly #checked = new Set<string>();

  constructor(options: DatabaseOptions) {
    const { name, maxConnections, maxPerTenant = Math.ceil(maxConnections / 2) } = options;
    const sizes = { name: `${name}-database`, perKey: maxPerTenant, total: maxConnections, ...WAITING };
    this.#pool = new ConnectionPool(options);
    this.#turns = new FairQueue(sizes);
    this.#nodes = new NodeQueues(sizes, (organization) => this.#findNode(organization));
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
    return this.#use(scope, async (client) => {
      await allOrFirstError(corked(client, () => [send(client, 'begin'), send(client, settings(scope))] as const));
      const result = await work((statement) => this.#run(client, statement), client);
      await send(client, 'commit');
      return result;
    });
  }

  async close(): Promise<void> {
    this.#turns.close();
    this.#nodes.close();
    await this.#pool.close();
  }

  #alone<Row>(begin: string, scope: Scope, statement: Statement<Row>): Promise<Row[]> {
    return this.#use(scope, async (client) => {
      // Citus plans for the values, as the organization decides which node runs the statement.
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

  /** Sends a statement at once, so that several of them fit into one packet. */
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
    const leaveNode = this.#pool.isCitus ? await this.#nodes.acquire(scope) : undefined;
    try {
      const release = await this.#turns.acquire(scope.organization, scope);
      try {
        return await this.#pool.use(scope, work);
      } finally {
        release();
      }
    } finally {
      leaveNode?.();
    }
  }

  async #findNode(organization: string): Promise<string> {
    try {
      const statement = { ...FIND_NODE, values: [organization] };
      const [row] = await this.transact(directoryScope(workFor(FIND_NODE_MS)), (query) => query(statement));
      return String(row!.node);
    } catch {
      // The database is not spread yet, or the work that asked meets the same error.
      return 'unknown';
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
