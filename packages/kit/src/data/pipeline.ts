import type { Socket } from 'node:net';
import type { PoolClient, QueryConfig, QueryResult } from 'pg';

/** The connection's socket. The driver's types don't name it. */
export function socketOf(client: PoolClient): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/**
 * Sends a statement without the driver's own promise, for which the driver assigns a function literal to a property of the statement. V8 puts functions
 * that are assigned like this among its old objects, where each keeps the rows of its statement alive until the whole heap is marked.
 */
export function send(client: PoolClient, statement: string | QueryConfig): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    const answered = (error: Error | null, result: QueryResult) => (error ? reject(error) : resolve(result));
    client.query(statement as QueryConfig, answered);
  });
}

/** Sends several statements by one system call. The driver alone would make one for each, and wake the server each time. */
export function corked<T>(client: PoolClient, work: () => T): T {
  const socket = socketOf(client);
  socket.cork();
  try {
    return work();
  } finally {
    socket.uncork();
  }
}

/** Waits for all results. Returns them in order, or throws the first failure in that order: later ones only say that the transaction is aborted. */
export async function allOrFirstError<T extends readonly unknown[]>(promises: {
  readonly [K in keyof T]: Promise<T[K]>;
}): Promise<T> {
  const results = await Promise.allSettled(promises as Promise<unknown>[]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}
