import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../process/log.ts';
import { tracer } from '../process/telemetry.ts';
import { INERT } from './app.ts';
import { breakBody } from './body.ts';
import { addressOf, chargeAddress, fullAddressOf, limitHeaders, type AddressCharging } from './charge.ts';
import { hangUp } from './hang-up.ts';
import { envelope, Refusal } from './refusal.ts';
import type { RefusalCounts } from './refusal-counts.ts';

const REASONS: Record<number, string> = { 400: 'Bad Request', 408: 'Request Timeout', 431: 'Request Header Fields Too Large' };

type Options = AddressCharging & {
  log: Logger;
  refusals: RefusalCounts;
  /** The gateway's name. */
  name: string;
  /** Whether answers say how much of the limit is left. */
  showLimits: boolean;
};

/**
 * Answers bytes that Node's parser can't read as a request like every other refusal: with a charge, our headers and an envelope. Where only
 * the body of a request can't be read, the app answers that request, because the app has charged it, or is about to.
 */
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
    const response = latest.get(socket);
    if (response && !response.req.complete) void letAppAnswer(socket, response);
    else void refuse(refusalOf(error), socket, response, options);
  });
}

function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Refusal(431, 'bad_request', 'The request line and headers are larger than 16 KiB.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal(408, 'bad_request', 'The request did not arrive in time.');
  return new Refusal(400, 'bad_request', 'The request is not valid HTTP.');
}

/** @param latest the answer to the connection's latest request, if there was one */
async function refuse(refusal: Refusal, socket: Socket, latest: ServerResponse | undefined, options: Options): Promise<void> {
  const text = await answerTo(refusal, socket, options);
  // A client matches answers to requests by their order, so earlier answers go first.
  if (latest) await sent(latest);
  if (socket.writable) hangUp(socket, text);
}

/** @param response to the request whose body can't be read */
async function letAppAnswer(socket: Socket, response: ServerResponse): Promise<void> {
  if (!response.headersSent) response.shouldKeepAlive = false;
  breakBody(response.req);
  await sent(response);
  if (socket.writable) hangUp(socket);
}

async function sent(response: ServerResponse): Promise<void> {
  if (!response.writableFinished && !response.destroyed) await once(response, 'close');
}

async function answerTo(
  refusal: Refusal,
  socket: Socket,
  { log, refusals, name, showLimits, ...limits }: Options,
): Promise<string> {
  const span = tracer(name).startSpan('unparsable request', { root: true });
  const requestId = span.spanContext().traceId;
  span.end();
  const sender = { socket, headers: {} };
  const { status, code } = refusal;
  const decision = await chargeAddress(limits, sender);
  // Beyond the limit, one line counts many, so that a client that sends garbage can't fill the log.
  if (decision.allowed || refusals.count({ status, client_address: addressOf(limits, sender) }))
    log.info({ status, client_address: fullAddressOf(limits, sender), code, trace_id: requestId }, 'unparsable request');
  const body = envelope(refusal, requestId);
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'private, no-cache',
    'X-Request-Id': requestId,
    ...INERT,
    ...(showLimits && limitHeaders(decision)),
    Connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status]}\r\n${head.join('')}\r\n${body}`;
}
