/** Compares responses of `/mcp` with the contract. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Fuzzed } from './request.ts';
import type { ListedTool } from './tool-requests.ts';
import type { WireResponse } from './wire.ts';

const CODES = new Set(['bad_request', 'unauthorized', 'not_found', 'rate_limited', 'internal_error']);
const CODE_OF: Record<number, string> = { 401: 'unauthorized', 404: 'not_found', 429: 'rate_limited' };
const REQUEST_ID = /^[0-9a-f]{32}$/;
const WITH_RETRY_AFTER = new Set([409, 429, 503, 504]);

export interface Verdict {
  /** The outcome for the table: a status, or the result of a message to the tools. */
  outcome: string;
  /** Violations of the contract. The text before a colon is the kind. */
  violations: string[];
}

export class Oracle {
  readonly #outputs: Map<string, ValidateFunction>;

  constructor(tools: ListedTool[]) {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    this.#outputs = new Map(tools.map(({ name, outputSchema }) => [name, ajv.compile(outputSchema)]));
  }

  examine(request: Fuzzed, response: WireResponse): Verdict {
    const found: string[] = [];
    // Node itself refuses headers that are too large, before it emits a request.
    const outcome = response.status === 431 ? '431' : this.#outcome(request, response, found);
    if (!request.expected.includes(outcome))
      found.push(`${outcome} instead of ${request.expected.join(' or ')}: ${response.text.slice(0, 300)}`);
    return { outcome, violations: found };
  }

  #outcome(request: Fuzzed, response: WireResponse, found: string[]): string {
    const { status, headers, text, json } = response;
    if (!REQUEST_ID.test(headers.get('x-request-id') ?? '')) found.push('no X-Request-Id');
    if (WITH_RETRY_AFTER.has(status) && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) found.push('no Retry-After');
    if (status >= 500) found.push(`status ${status}: ${response.text.slice(0, 300)}`);
    for (const [name, value] of [...headers, ['body', response.text] as const])
      for (const mark of request.credential.foreign) if (value.includes(mark)) found.push(`shows ${mark}: in ${name}`);
    if ([...headers.keys()].some((name) => name.startsWith('x-ratelimit'))) found.push('X-RateLimit on a tool');
    if (headers.get('mcp-session-id') !== null) found.push('a session');
    if (request.method === 'HEAD' || text === '') {
      if (status === 200) found.push('200 without a body');
      return String(status);
    }
    if (headers.get('content-type')?.startsWith('application/json') !== true)
      found.push(`Content-Type: ${headers.get('content-type')}`);
    if (status === 405 && headers.get('allow') !== 'POST') found.push('405 without Allow');
    if (
      (status === 401 || status === 403) &&
      request.expected.every((it) => it !== '403') &&
      !/^Bearer .*resource_metadata="/.test(headers.get('www-authenticate') ?? '')
    )
      found.push(`${status} without challenge`);
    if (json?.jsonrpc === undefined) {
      found.push(...envelopeProblems(response));
      return String(status);
    }
    const { jsonrpc, id, result, error, ...rest } = json as Record<string, unknown>;
    if (jsonrpc !== '2.0' || Object.keys(rest).length > 0 || (result === undefined) === (error === undefined))
      found.push(`no JSON-RPC: ${text.slice(0, 200)}`);
    if (error !== undefined) return rpcError(request, status, id, error as object, found);
    if (request.rpcId !== undefined && id !== request.rpcId)
      found.push(`the id ${JSON.stringify(id)}: instead of ${JSON.stringify(request.rpcId)}`);
    return this.#result(request, response, result as Record<string, unknown>, found);
  }

  #result(request: Fuzzed, { status, headers }: WireResponse, result: Record<string, unknown>, found: string[]): string {
    if (!('content' in result)) return `${status} result`;
    const content = result['content'] as { type: string; text: string }[];
    const [first, hint] = content;
    // There may be a second text, the hint that no call has this call_status.
    const isHinted = hint !== undefined && hint.text.startsWith('No call has this call_status.');
    if (content.length !== (isHinted ? 2 : 1) || first?.type !== 'text') found.push('content is not one text');
    if (request.route.endsWith('(modern)') && result['resultType'] !== 'complete') found.push('no resultType');
    const value = JSON.parse(first!.text) as Record<string, unknown>;
    if (result['isError'] === true) {
      if (result['structuredContent'] !== undefined) found.push('an error with structured content');
      const error = value['error'] as { code: string; message: unknown; request_id: unknown };
      if (
        Object.keys(value).join() !== 'error' ||
        Object.keys(error).join() !== 'code,message,request_id' ||
        typeof error.message !== 'string'
      )
        found.push(`error of a tool: ${first!.text}`);
      if (!CODES.has(error.code)) found.push(`code: ${error.code}`);
      if (error.request_id !== headers.get('x-request-id')) found.push('request_id differs');
      if (error.code === 'internal_error') found.push(`internal_error: ${first!.text}`);
      return `${status} ${error.code}`;
    }
    if (JSON.stringify(result['structuredContent']) !== JSON.stringify(value))
      found.push('the text is not the structured content');
    const tool = /^tools\/call (\w+)/.exec(request.route)?.[1] ?? 'list_calls';
    const validate = this.#outputs.get(tool)!;
    if (!validate(result['structuredContent'])) found.push(`outputSchema: ${JSON.stringify(validate.errors)}`);
    return `${status} result`;
  }
}

function rpcError({ rpcId }: Fuzzed, status: number, id: unknown, error: object, found: string[]): string {
  const { code, message } = error as { code: unknown; message: unknown };
  if (!Number.isInteger(code) || typeof message !== 'string')
    found.push(`error of JSON-RPC: ${JSON.stringify(error).slice(0, 300)}`);
  if (code === -32603) found.push(`-32603: ${JSON.stringify(error).slice(0, 300)}`);
  if (/\bat \S+ \(|node_modules|file:\/\//.test(String(message))) found.push(`a stack: ${String(message).slice(0, 300)}`);
  if (rpcId !== undefined && id !== rpcId && id !== null)
    found.push(`the id ${JSON.stringify(id)}: instead of ${JSON.stringify(rpcId)}`);
  return `${status} rpc ${String(code)}`;
}

/** @param more further properties of the error */
export function envelopeProblems({ status, headers, json }: WireResponse, more: string[] = []): string[] {
  const { error } = (json ?? {}) as { error?: { code: string; message: unknown; request_id: string } };
  const properties = ['code', 'message', 'request_id', ...more].join();
  if (!error || Object.keys(json as object).join() !== 'error' || Object.keys(error).join() !== properties)
    return ['no envelope'];
  const found: string[] = [];
  const code = CODE_OF[status] ?? (status >= 500 ? 'internal_error' : status === 403 ? 'unauthorized' : 'bad_request');
  if (error.code !== code) found.push(`code: ${error.code} with ${status}`);
  if (error.request_id !== headers.get('x-request-id')) found.push('request_id differs');
  if (typeof error.message !== 'string' || error.message === '' || error.message.length > 1_000)
    found.push(`message: ${String(error.message).slice(0, 200)}`);
  else if (/\bat \S+ \(|node_modules|file:\/\/|<html/i.test(error.message)) found.push(`a stack: ${error.message.slice(0, 200)}`);
  return found;
}
