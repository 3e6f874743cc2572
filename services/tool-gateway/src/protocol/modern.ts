// The only file that imports the SDK of protocol version 2026-07-28.
import { createMcpHandler, isLegacyRequest, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import {
  callTool,
  findTool,
  INSTRUCTIONS,
  LISTED,
  SERVER,
  UNKNOWN_TOOL,
  type HttpResult,
  type ToolRequest,
} from './serve-tools.ts';

/** Whether a request uses an older protocol version. */
export function speaksLegacy(request: Request, body: unknown): Promise<boolean> {
  return isLegacyRequest(request, body);
}

export async function serveModern(request: Request, body: unknown, tools: ToolRequest): Promise<HttpResult> {
  let failure: { error: unknown } | undefined;
  const handler = createMcpHandler(
    // The SDK calls this once it has checked the headers.
    async () => {
      const refused = await tools.admit().catch((error: unknown) => {
        failure = { error };
        throw error;
      });
      const server = new Server(SERVER, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
      server.setRequestHandler('tools/list', () => ({ tools: LISTED as never, ttlMs: 3_600_000, cacheScope: 'public' as const }));
      server.setRequestHandler('tools/call', ({ params }) => {
        const tool = findTool(params.name);
        if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, UNKNOWN_TOOL);
        return callTool(tool, tools, refused);
      });
      return server;
    },
    { legacy: 'reject' },
  );
  const response = await handler.fetch(request, { parsedBody: body });
  if (failure) throw failure.error;
  return { status: response.status, headers: response.headers, body: await response.text() };
}
