import type { Socket } from 'node:net';

const LINGER_MS = 1_000;

/**
 * Writes `lastWord` and closes the connection. What the other side still sends is discarded, until it closes too or a second has passed:
 * a connection that is closed with unread data is reset, and `lastWord` might be lost.
 */
export function hangUp(socket: Socket, lastWord = ''): void {
  socket.end(lastWord);
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
