import { randomFillSync } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { headersFor } from './app.ts';
import { resetOf } from './charge.ts';
import type { RefusalCounts } from './refusal-counts.ts';
import { renderEnvelope, type Render } from './refusal.ts';
import type { PreparedAnswer, Recalled, RepeatedRefusal } from './repeated.ts';
import { attributesOf, requestDuration } from './request.ts';

export interface RecallOptions {
  /** The gateway's name in metrics. */
  name: string;
  publicUrl: string | undefined;
  /** Whether answers say how much of the limit is left. */
  showLimits: boolean;
  refusals: RefusalCounts;
  recall: Recall;
  render?: Render<IncomingMessage>;
}

/**
 * Finds the refusal of a request by this process's memory.
 * @returns a promise where the charge of the request is missing, or its body; undefined where the app has to answer. Never throws.
 */
export type Recall = (request: IncomingMessage, response: ServerResponse) => Recalled | Promise<Recalled | undefined> | undefined;

/** Stands for the request id while an answer is prepared. */
const ID = '0'.repeat(32);
/** Where the values are in a prepared head. */
const AT = { id: 1, limit: 3, remaining: 5, reset: 7 };

/**
 * Puts a listener in front of an app. It answers a request that `recall` refuses like the app, with the same headers and the same
 * envelope, but without the app's work: such refusals come in crowds, and whoever is served shares the process with the crowd. They are
 * in the metrics, and the log counts them. They have no spans.
 */
export function answerRecalled(options: RecallOptions, app: RequestListener): RequestListener {
  const { name, publicUrl, showLimits, refusals, recall, render = renderEnvelope } = options;
  const always = headersFor(publicUrl);
  const duration = requestDuration(name);
  const prepare = ({ parts }: RepeatedRefusal, request: IncomingMessage): PreparedAnswer => {
    const [type, body] = render(parts, ID, request);
    const headers = {
      'X-Request-Id': '',
      ...(showLimits && { 'X-RateLimit-Limit': '', 'X-RateLimit-Remaining': '', 'X-RateLimit-Reset': '' }),
      'Cache-Control': 'private, no-cache',
      ...always,
      ...parts.headers,
      'Content-Type': `${type}; charset=utf-8`,
      'Content-Length': String(Buffer.byteLength(body)),
    };
    const [before = '', after] = body.split(ID);
    return { head: Object.entries(headers).flat(), before, after };
  };
  const answer = (request: IncomingMessage, response: ServerResponse, { refusal, decision }: Recalled) => {
    const { head, before, after } = (refusal.answer ??= prepare(refusal, request));
    const id = randomId();
    head[AT.id] = id;
    if (showLimits) {
      head[AT.limit] = String(decision.limit);
      head[AT.remaining] = String(decision.remaining);
      head[AT.reset] = resetOf(decision);
    }
    response.writeHead(refusal.parts.status, head);
    response.end(request.method === 'HEAD' ? undefined : after === undefined ? before : before + id + after);
    duration.record(0, attributesOf(request.method!, refusal.route, refusal.parts.status));
    refusals.count(refusal.tally);
  };
  return (request, response) => {
    const settle = (recalled: Recalled | undefined) => (recalled ? answer(request, response, recalled) : app(request, response));
    const recalled = recall(request, response);
    if (recalled instanceof Promise) void recalled.then(settle);
    else settle(recalled);
  };
}

const ID_BYTES = 16;
const ids = { pool: Buffer.alloc(ID_BYTES * 256), used: Infinity };

/** A request id, in the form of a trace id. Random bytes are drawn in stock, because a draw costs more than the rest of an answer. */
function randomId(): string {
  if (ids.used + ID_BYTES > ids.pool.length) {
    randomFillSync(ids.pool);
    ids.used = 0;
  }
  return ids.pool.toString('hex', ids.used, (ids.used += ID_BYTES));
}

/** Whether a request has one `Host` header. Node reads the first of several without a word. */
export function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count === 1;
}

/** A target's path that all parsers of URLs read alike; undefined for any other target. */
export function plainPath(request: IncomingMessage): string | undefined {
  return /^(\/[!"$->@-[\]-~]*)(?:\?[!"$-[\]-~]*)?$/.exec(request.url!)?.[1];
}
