// The baseline server of `bench/tools.ts`, with the same SDK as the gateway and constant responses. Its two arguments are JSON: the list of tools, and the
// result of every call. Prints its port.
import { createServer } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [tools, result] = process.argv.slice(2).map((text) => JSON.parse(text));

const http = createServer((request, response) => {
  void (async () => {
    const server = new Server({ name: 'bare', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
    server.setRequestHandler(CallToolRequestSchema, () => result);
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    response.once('close', () => void server.close());
    await server.connect(transport);
    await transport.handleRequest(request, response);
  })();
});
http.listen(0, '127.0.0.1', () => console.log((http.address() as { port: number }).port));
