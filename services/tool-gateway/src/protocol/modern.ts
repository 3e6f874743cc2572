// The only file that imports the SDK of protocol version 2026-07-28.
import { createMcpHandler, isLegacyRequest, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { callTool, LISTED, SERVER, UNKNOWN_TOOL, type ToolRequest } from './serve-tools.ts';

/** Whether a request speaks an older protocol version. */
export function speaksLegacy(request: Request, body: unknown): Promise<boolean> {
  return isLegacyRequest(request, body);
}

/** Answers one POST. */
export async function serveModern(request: Request, body: unknown, tools: ToolRequest): Promise<Response> {
  const handler = createMcpHandler(
    () => {
      const server = new Server(SERVER, { capabilities: { tools: {} } });
      server.setRequestHandler('tools/list', () => ({ tools: LISTED as never, ttlMs: 3_600_000, cacheScope: 'public' as const }));
      server.setRequestHandler('tools/call', ({ params }) => {
        if (!LISTED.some(({ name }) => name === params.name))
          throw new ProtocolError(ProtocolErrorCode.InvalidParams, UNKNOWN_TOOL);
        return callTool(params.name, params.arguments, tools);
      });
      return server;
    },
    { legacy: 'reject' },
  );
  return handler.fetch(request, { parsedBody: body });
}
