import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/**
 * Answers `Expect: 100-continue` once the answers to all earlier requests of the connection are sent. Node alone would write
 * `100 Continue` at once, and it would end up inside another answer. If the final answer is ready first, it is sent without
 * `100 Continue`, and Node closes the connection after it.
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
