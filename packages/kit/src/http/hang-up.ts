import type { Socket } from 'node:net';

const LINGER_MS = 1_000;

/**
 * Says a last word and closes the connection. Until the other side has closed too, or a second has passed, what it still sends is
 * thrown away: a connection closed at once would be reset, and the last word might be lost.
 */
export function hangUp(socket: Socket, lastWord = ''): void {
  socket.end(lastWord);
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
