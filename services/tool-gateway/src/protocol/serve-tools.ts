import { parseObject } from '@crs/kit/product/import-record';
import { invalid } from '@crs/kit/errors';
import { toRefusal, type Refusal } from '@crs/kit/http/refusal';
import type { Logger } from '@crs/kit/process/log';
import type { Context, ToolCall } from '../context.ts';
import { TOOLS } from '../tools/index.ts';
import { describeTool } from '../tools/tool.ts';

/** What every protocol version says of this server. It changes with any tool name, parameter or response shape. */
export const SERVER = { name: 'call-research', title: 'Call Research', version: '0.5.0' };

/** `tools/list`, the same for everybody. */
export const LISTED = TOOLS.map(describeTool);

export function isTool(name: string): boolean {
  return TOOLS.some((tool) => tool.name === name);
}

export const UNKNOWN_TOOL = 'Unknown tool. tools/list names those that exist.';

/** The result of a tool: structured content and the same as text, or an error that a model can mend. */
export interface ToolResult {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** What a request brings to the tools; the adapters know nothing else of it. */
export interface ToolRequest {
  context: Context;
  call: ToolCall;
  requestId: string;
  /** As they were sent: the SDKs drop `__proto__`, which is to be refused as any argument that the tool does not have. */
  arguments: unknown;
  /**
   * Tool name, scope and rate: asked by an adapter once it is content with the protocol's headers.
   * @returns what to answer instead of running the tool
   */
  admit: () => Promise<Refusal | undefined>;
  setRetryAfter: (seconds: string) => void;
  /** Told of each call of a tool: the status that it would have over REST, and how long it took. */
  measure: (tool: string, status: number, seconds: number) => void;
  log: Logger;
}

/** Runs a tool that exists. Whatever goes wrong becomes a result; transcripts and other content never get into its words. */
export async function callTool(
  name: string,
  { context, call, requestId, arguments: given, setRetryAfter, measure, log }: ToolRequest,
  refused: Refusal | undefined,
): Promise<ToolResult> {
  const tool = TOOLS.find((each) => each.name === name)!;
  const started = performance.now();
  let status = 200;
  try {
    if (refused) throw refused;
    const parsed = parseObject(tool.input, withoutNulls(given));
    if (!('record' in parsed)) throw invalid(parsed.field === '' ? 'arguments' : parsed.field, parsed.reason);
    const value = (await tool.run(context, parsed.record, call)) as Record<string, unknown>;
    return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value };
  } catch (error) {
    const refusal = toRefusal(error);
    status = refusal.status;
    if (refusal.status === 500) log.error({ err: refusal.cause, tool: name, trace_id: requestId }, 'tool failed');
    const retryAfter = refusal.headers['Retry-After'];
    if (retryAfter !== undefined) setRetryAfter(retryAfter);
    const isAway = retryAfter !== undefined && refusal.status >= 500;
    const message = isAway ? `${refusal.message} (Retry after ${retryAfter} s.)` : refusal.message;
    const body = { error: { code: refusal.code, message, request_id: requestId } };
    return { content: [{ type: 'text', text: JSON.stringify(body) }], isError: true };
  } finally {
    measure(name, status, (performance.now() - started) / 1000);
  }
}

/** Models write null for what they leave out. */
function withoutNulls(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given ?? {};
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
}
