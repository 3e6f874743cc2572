import type { Socket } from 'node:net';
import type { PoolClient, QueryConfig, QueryResult } from 'pg';

/** Returns the connection's socket, which the driver's types don't declare. */
export function socketOf(client: PoolClient): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/**
 * Sends a statement by the driver's callback API. Its promise API leaks until a full collection: it assigns a closure to a property of the statement, and V8
 * allocates such closures in the old generation, where each keeps the statement's rows alive.
 */
export function send(client: PoolClient, statement: string | QueryConfig): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    const onResult = (error: Error | null, result: QueryResult) => (error ? reject(error) : resolve(result));
    client.query(statement as QueryConfig, onResult);
  });
}

/** Sends the statements of `work` in one packet. Otherwise the driver would make a system call, and wake the server, for each. */
export function corked<T>(client: PoolClient, work: () => T): T {
  const socket = socketOf(client);
  socket.cork();
  try {
    return work();
  } finally {
    socket.uncork();
  }
}

/** Like `Promise.all`, but throws the first error in order, not in time: later ones only say that the transaction is aborted. */
export async function allOrFirstError<T extends readonly unknown[]>(promises: {
  readonly [K in keyof T]: Promise<T[K]>;
}): Promise<T> {
  const results = await Promise.allSettled(promises as Promise<unknown>[]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}
