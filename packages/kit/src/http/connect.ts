import { ServerResponse, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { hangUp } from './hang-up.ts';

/** Has CONNECT answered as any other request, where Node would hang up without a word. */
export function answerConnect(server: Server, listener: RequestListener): void {
  server.on('connect', (request, socket: Socket) => {
    // Node has let go of the connection; an error that nobody hears would end the process.
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => hangUp(socket));
    listener(request, response);
  });
}
