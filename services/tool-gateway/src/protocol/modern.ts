// The only file that imports the SDK of protocol version 2026-07-28.
import { createMcpHandler, isLegacyRequest, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { callTool, INSTRUCTIONS, isTool, LISTED, SERVER, UNKNOWN_TOOL, type Answer, type ToolRequest } from './serve-tools.ts';

/** Whether a request speaks an older protocol version. */
export function speaksLegacy(request: Request, body: unknown): Promise<boolean> {
  return isLegacyRequest(request, body);
}

export async function serveModern(request: Request, body: unknown, tools: ToolRequest): Promise<Answer> {
  let failure: { error: unknown } | undefined;
  const handler = createMcpHandler(
    // The SDK asks for a server after it has checked the headers.
    async () => {
      const refused = await tools.admit().catch((error: unknown) => {
        failure = { error };
        throw error;
      });
      const server = new Server(SERVER, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
      server.setRequestHandler('tools/list', () => ({ tools: LISTED as never, ttlMs: 3_600_000, cacheScope: 'public' as const }));
      server.setRequestHandler('tools/call', ({ params }) => {
        if (!isTool(params.name)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, UNKNOWN_TOOL);
        return callTool(params.name, tools, refused);
      });
      return server;
    },
    { legacy: 'reject' },
  );
  const answer = await handler.fetch(request, { parsedBody: body });
  if (failure) throw failure.error;
  return { status: answer.status, headers: answer.headers, body: await answer.text() };
}
