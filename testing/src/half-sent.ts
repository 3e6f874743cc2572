/** Incomplete HTTP requests, for tests of how servers time them out. */
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than the 5 s after which a connection with an incomplete request is closed, and far shorter than Node's own timeouts. */
const MOST_MS = 10_000;

/** Returns a request with an incomplete body. @param head without the empty line at its end */
export const HALF_SENT = {
  withLength: (head: string) => `${head}\r\nContent-Length: 100\r\n\r\n{"half":`,
  chunked: (head: string) => `${head}\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"half":\r\n`,
};

/**
 * Sends bytes to `host:port`, and keeps its own side of the connection open.
 * @returns the statuses of the responses, and whether the server closed the connection in time
 */
export async function sendAndStall(address: string, bytes: string): Promise<{ statuses: number[]; isEnded: boolean }> {
  const [host = '', port = ''] = address.split(':');
  const socket = createConnection({ host, port: Number(port), allowHalfOpen: true });
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.write(bytes);
  const stopped = new AbortController();
  const isEnded = await Promise.race([once(socket, 'end').then(() => true), sleep(MOST_MS, false, { signal: stopped.signal })]);
  stopped.abort();
  socket.destroy();
  return { statuses: [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status)), isEnded };
}
