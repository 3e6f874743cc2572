// The only file that imports the SDK of protocol versions 2025-11-25 and older.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  isInitializeRequest,
  isJSONRPCRequest,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  SUPPORTED_PROTOCOL_VERSIONS,
  type CallToolRequest,
  type JSONRPCMessage,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { z } from 'zod';
import {
  callTool,
  findTool,
  INSTRUCTIONS,
  LISTED,
  RpcRefusal,
  SERVER,
  UNKNOWN_TOOL,
  type HttpResult,
  type ToolRequest,
  type ToolResult,
} from './serve-tools.ts';

/** Accepts any parameters: the SDK checks them again, and reports a failure of this first check as an internal error. */
const AnyCall = CallToolRequestSchema.extend({ params: z.custom<CallToolRequest['params']>().optional() });

/** Shared, because each server would create its own, at a third of the cost of a call. Only elicitation uses it, and no tool elicits. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/** Serves one POST, without a session, by its own SDK server. @param version the `MCP-Protocol-Version` header */
export async function serveLegacy(version: string | undefined, body: object, tools: ToolRequest): Promise<HttpResult> {
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version) && !isInitializeRequest(body)) {
    const supported = SUPPORTED_PROTOCOL_VERSIONS.join(', ');
    throw new RpcRefusal(-32000, `Bad Request: Unsupported protocol version: ${version} (supported versions: ${supported})`);
  }
  const refused = await tools.admit();
  const { data: message } = JSONRPCMessageSchema.safeParse(withoutTask(body));
  if (!message) throw new RpcRefusal(-32700, 'Parse error: Invalid JSON-RPC message');
  const server = new Server(SERVER, { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: LISTED as never }));
  server.setRequestHandler(AnyCall, ({ params }) => {
    const tool = findTool(params?.name);
    if (!tool) throw Object.assign(new Error(UNKNOWN_TOOL), { code: -32602 });
    return callTool(tool, tools, refused);
  });
  const { promise: response, resolve } = Promise.withResolvers<JSONRPCMessage>();
  const transport: Transport = { start: async () => {}, send: async (sent) => resolve(sent), close: async () => {} };
  await server.connect(transport);
  transport.onmessage?.(message);
  if (!isJSONRPCRequest(message)) return { status: 202, headers: [], body: '' };
  return { status: 200, headers: [['Content-Type', 'application/json']], body: render(await response) };
}

/** Reuses the first text as the JSON of the structured content, because serializing a long call again takes 20 ms. */
function render(response: JSONRPCMessage): string {
  const { result, ...others } = response as { result?: ToolResult };
  if (!result?.structuredContent) return JSON.stringify(response);
  const { structuredContent: _, ...rest } = result;
  const structured = `"structuredContent":${result.content[0]!.text}`;
  return `{"result":${JSON.stringify(rest).slice(0, -1)},${structured}},${JSON.stringify(others).slice(1)}`;
}

/** Removes a request's `task`, because tasks aren't offered. The SDK would respond with an internal error. */
function withoutTask(body: object): object {
  const { params } = body as { params?: unknown };
  if (typeof params !== 'object' || params === null || !Object.hasOwn(params, 'task')) return body;
  return { ...body, params: { ...params, task: undefined } };
}
