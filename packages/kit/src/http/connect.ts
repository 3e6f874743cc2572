import { ServerResponse, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { hangUp } from './hang-up.ts';

/** Has the listener answer CONNECT like any other request. Node alone would close the connection without an answer. */
export function answerConnect(server: Server, listener: RequestListener): void {
  server.on('connect', (request, socket: Socket) => {
    // Node no longer handles errors of this connection, and an unhandled error would end the process.
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => hangUp(socket));
    listener(request, response);
  });
}
