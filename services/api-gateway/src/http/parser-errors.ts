import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { tracer } from '@crs/kit/telemetry';
import { chargeAddress, limitHeaders, type AdmissionOptions } from './admission.ts';
import { envelope, Refusal } from './refusal.ts';

const REASONS: Record<number, string> = { 400: 'Bad Request', 408: 'Request Timeout', 431: 'Request Header Fields Too Large' };

/** Answers what Node's parser refuses before there is a request as every other refusal is answered: charge, headers, envelope. */
export function answerParserErrors(server: Server, options: Omit<AdmissionOptions, 'credentials'>): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    void answer(refusalOf(error), socket, options);
  });
}

function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Refusal(431, 'bad_request', 'The request line and headers are larger than 16 KiB.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal(408, 'bad_request', 'The request did not arrive in time.');
  return new Refusal(400, 'bad_request', 'The request is not valid HTTP.');
}

async function answer(refusal: Refusal, socket: Socket, options: Omit<AdmissionOptions, 'credentials'>): Promise<void> {
  const span = tracer('api-gateway').startSpan('unparsable request', { root: true });
  const requestId = span.spanContext().traceId;
  span.end();
  const limits = limitHeaders(await chargeAddress(options, { socket, headers: {} }));
  const body = envelope(refusal, requestId);
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'private, no-cache',
    'X-Request-Id': requestId,
    ...limits,
    Connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refusal.status} ${REASONS[refusal.status]}\r\n${head.join('')}\r\n${body}`);
}
