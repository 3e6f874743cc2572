import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { digestOf } from '@crs/kit/product/api-key';
import type { RefusalParts } from '@crs/kit/http/refusal';
import { meter } from '@crs/kit/process/telemetry';
import { refusedResult, type ToolResult } from '../protocol/serve-tools.ts';
import { TOOLS } from '../tools/index.ts';

/** A JSON-RPC answer with the result of a tool. */
interface ToolAnswer {
  id: unknown;
  result: ToolResult;
}

/** A call of a tool, as far as its refusal depends on it. */
export interface Call {
  id: string | number;
  tool: (typeof TOOLS)[number];
  /** Of everything but the id and the arguments. */
  form: string;
}

const MOST_FORMS = 1_000;
const FORM_HEADERS = ['accept', 'content-type'];

/**
 * The answers of the SDKs to calls over the limit. The call of a form that an SDK has answered before is answered without the SDK, which takes
 * a millisecond for it: such calls come in crowds.
 */
export class RefusedCalls {
  readonly #answers = new LRUCache<string, ToolAnswer>({ max: MOST_FORMS });

  /** Remembers the answer of an SDK to a call over the limit. */
  learn(request: IncomingMessage, message: object, text: string): void {
    const call = readCall(request, message);
    if (call) this.#answers.set(call.form, JSON.parse(text) as ToolAnswer);
  }

  /** The answer to calls of a form; undefined where an SDK has to make it. */
  find({ form }: Call): ToolAnswer | undefined {
    return this.#answers.get(form);
  }
}

/** The refusal of a call as its answer states it: a result, with status 200. */
export class CallRefusal implements RefusalParts {
  readonly status = 200;
  readonly code;
  readonly message;
  readonly headers;
  readonly #answer: ToolAnswer;

  constructor({ code, message, headers }: RefusalParts, answer: ToolAnswer, id: Call['id']) {
    this.code = code;
    this.message = message;
    this.headers = headers;
    this.#answer = { ...answer, id };
  }

  body(requestId: string): string {
    const result = { ...this.#answer.result, ...refusedResult(this, requestId) };
    return JSON.stringify({ ...this.#answer, result });
  }
}

/** Reads a message as the call of a tool; undefined for any other message. */
export function readCall({ headers }: IncomingMessage, message: object): Call | undefined {
  const { id, params, ...others } = message as { id?: unknown; params?: unknown; method?: unknown };
  if (others.method !== 'tools/call' || !(typeof id === 'string' || Number.isSafeInteger(id)) || !isObject(params))
    return undefined;
  const { arguments: given = {}, ...call } = params;
  const tool = TOOLS.find(({ name }) => name === call['name']);
  if (!tool || !isObject(given)) return undefined;
  const own = Object.entries(headers).filter(([name]) => name.startsWith('mcp-') || FORM_HEADERS.includes(name));
  const form = digestOf(JSON.stringify([own, others, call])).toString('base64');
  return { id: id as string | number, tool, form };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Measures calls of tools by the status that REST would have answered with: a tool's refusal is a result with status 200. */
export function measureTools(): (tool: string, status: number, seconds: number) => void {
  const duration = meter('tool-gateway').createHistogram('crs.tool.call.duration', {
    unit: 's',
    description: 'Time that a tool took, by the status that REST would have answered with.',
  });
  return (tool, status, seconds) => duration.record(seconds, { 'crs.tool.name': tool, 'http.response.status_code': status });
}
