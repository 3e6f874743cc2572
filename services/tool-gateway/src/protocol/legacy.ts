// The only file that imports the SDK of protocol versions 2025-11-25 and older.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  SUPPORTED_PROTOCOL_VERSIONS,
  type CallToolRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { z } from 'zod';
import { callTool, INSTRUCTIONS, isTool, LISTED, SERVER, UNKNOWN_TOOL, type ToolRequest } from './serve-tools.ts';

/** The SDK checks parameters twice. It would report a fault in this first check as an internal error, so this check allows everything. */
const AnyCall = CallToolRequestSchema.extend({ params: z.custom<CallToolRequest['params']>().optional() });

/** Shared: each server would otherwise make its own, at a third of the cost of a call. Only elicitation uses it, and no tool elicits. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/** Answers one POST, without a session, by a server made for it. */
export async function serveLegacy(request: Request, body: unknown, tools: ToolRequest): Promise<Response> {
  const version = request.headers.get('mcp-protocol-version');
  // The SDK itself refuses an unknown version, before any other check.
  const isSpoken = version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version);
  const refused = isSpoken ? await tools.admit() : undefined;
  const server = new Server(SERVER, { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: LISTED as never }));
  server.setRequestHandler(AnyCall, ({ params }) => {
    if (!params || !isTool(params.name)) throw Object.assign(new Error(UNKNOWN_TOOL), { code: -32602 });
    return callTool(params.name, tools, refused);
  });
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: withoutTask(body) });
  } finally {
    await server.close();
  }
}

/** Removes a call's wish for a task, because tasks aren't offered. The SDK would answer such a call with an internal error. */
function withoutTask(body: unknown): unknown {
  const { params } = body as { params?: unknown };
  if (typeof params !== 'object' || params === null || !Object.hasOwn(params, 'task')) return body;
  return { ...(body as object), params: { ...params, task: undefined } };
}
