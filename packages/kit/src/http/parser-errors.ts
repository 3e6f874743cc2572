import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../process/log.ts';
import { tracer } from '../process/telemetry.ts';
import { chargeAddress, fullAddressOf, limitHeaders, type AddressCharging } from './charge.ts';
import { hangUp } from './hang-up.ts';
import { envelope, Refusal } from './refusal.ts';

const REASONS: Record<number, string> = { 400: 'Bad Request', 408: 'Request Timeout', 431: 'Request Header Fields Too Large' };

type Options = AddressCharging & {
  log: Logger;
  /** The gateway's name. */
  name: string;
  /** Whether answers say how much of the limit is left. */
  showLimits: boolean;
};

/** Answers bytes that Node's parser can't read as a request like every other refusal: with a charge, our headers and an envelope. */
export function answerParserErrors(server: Server, options: Options): void {
  const latest = new WeakMap<Socket, ServerResponse>();
  const remember = ({ socket }: IncomingMessage, response: ServerResponse) => void latest.set(socket, response);
  server.on('request', remember);
  server.on('checkExpectation', remember);

  const refused = new WeakSet<Socket>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    // Node reports each further piece of the unreadable request again.
    if (refused.has(socket)) return;
    refused.add(socket);
    void refuse(refusalOf(error), socket, latest.get(socket), options);
  });
}

function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Refusal(431, 'bad_request', 'The request line and headers are larger than 16 KiB.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal(408, 'bad_request', 'The request did not arrive in time.');
  return new Refusal(400, 'bad_request', 'The request is not valid HTTP.');
}

/** @param latest the answer to the connection's latest readable request, if there was one */
async function refuse(refusal: Refusal, socket: Socket, latest: ServerResponse | undefined, options: Options): Promise<void> {
  const text = await answerTo(refusal, socket, options);
  // A client matches answers to requests by their order, so earlier answers go first. If the body of the latest request is what can't be
  // read, this refusal is the answer to that request.
  const isOwed = latest !== undefined && !latest.writableFinished && !latest.destroyed;
  if (isOwed && (latest.req.complete || latest.socket === null)) await once(latest, 'close');
  const isAnswered = latest !== undefined && latest.headersSent && !latest.req.complete;
  if (socket.writable) hangUp(socket, isAnswered ? '' : text);
}

async function answerTo(refusal: Refusal, socket: Socket, { log, name, showLimits, ...limits }: Options): Promise<string> {
  const span = tracer(name).startSpan('unparsable request', { root: true });
  const requestId = span.spanContext().traceId;
  span.end();
  const sender = { socket, headers: {} };
  const facts = { status: refusal.status, client_address: fullAddressOf(limits, sender), code: refusal.code };
  log.info({ ...facts, trace_id: requestId }, 'unparsable request');
  const decision = await chargeAddress(limits, sender);
  const body = envelope(refusal, requestId);
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'private, no-cache',
    'X-Request-Id': requestId,
    ...(showLimits && limitHeaders(decision)),
    Connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status]}\r\n${head.join('')}\r\n${body}`;
}
