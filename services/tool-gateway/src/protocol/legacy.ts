// The only file that imports the SDK of protocol versions 2025-11-25 and older.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { callTool, LISTED, SERVER, type ToolRequest } from './serve-tools.ts';

/** Answers one POST, without a session: a server of its own for each. */
export async function serveLegacy(
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  tools: ToolRequest,
): Promise<void> {
  const server = new Server(SERVER, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: LISTED as never }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => callTool(params.name, params.arguments, tools) as never);
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  response.once('close', () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, body);
}
