import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/**
 * Says `100 Continue` to who asks for it, once it is that request's turn. Node says it at once, and where answers to earlier requests of
 * the connection are still owed, it gets into the middle of this one's: behind its headers, as the first bytes of its body. Where an answer is there before its turn,
 * it is not said, and Node ends the connection with that answer.
 */
export function answerContinue(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const say = () => {
      if (!response.headersSent) response.writeContinue();
    };
    if (response.socket) say();
    else response.once('socket', say);
    server.emit('request', request, response);
  });
}
