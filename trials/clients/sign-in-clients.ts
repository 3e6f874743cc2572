/**
 * Checks that MCP clients of others can complete the OAuth sign-in: version 1 of the MCP SDK, mcp-remote and the MCP Inspector. Each opens its authorization
 * URL in a browser, where a scripted user consents, and then calls a tool. Run by `trials/clients/run` with the server's URL in `MCP_URL`.
 */
import assert from 'node:assert/strict';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Assistant } from './assistant.ts';
import { CLIENTS, runBin, type ToolResult } from './clients.ts';
import * as demo from './demo.ts';
import { createOpener } from './opener.ts';
import { openBrowser } from './person.ts';

const url = process.env['MCP_URL']!;
const TOOL = 'list_projects';
const ARGS = { scope: 'all' };

// mcp-remote and the Inspector start a browser themselves.
const opener = await createOpener();
Object.assign(process.env, opener.env, { MCP_AUTO_OPEN_ENABLED: 'true' });

const person = await openBrowser();

const assistant = await Assistant.start();
const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: assistant });
  const client = new Client({ name: 'example-assistant', version: '1.0.0' });
  return { client, transport, error: await client.connect(transport).catch((error: unknown) => error) };
};
// Without a token, the first connection fails, after the SDK has passed the authorization URL to the provider.
const { transport, error } = await connect();
assert(error instanceof UnauthorizedError);
await person.decide(assistant.authorizationUrl!, 'Allow');
await transport.finishAuth(assistant.callbackParams!.get('code')!);
const { client } = await connect();
check('SDK v1', (await client.callTool({ name: TOOL, arguments: ARGS })) as ToolResult);

const [remote] = await Promise.all([CLIENTS['mcp-remote']!(url, {}), allow()]);
check('mcp-remote', await remote.call(TOOL, ARGS));
await remote.close!();

// Without a keychain, the Inspector keeps its tokens in memory, and its second run would have to sign in again.
process.env['MCP_INSPECTOR_SECRET_STORE'] = 'file';
const inspect = () =>
  runBin('inspector', [
    ...['--cli', url, '--transport', 'http', '--format', 'json', '--callback-url', 'http://127.0.0.1:0/oauth/callback'],
    ...['--method', 'tools/call', '--tool-name', TOOL, '--tool-args-json', JSON.stringify(ARGS)],
  ]);
const [first] = await Promise.all([inspect(), allow()]);
check('Inspector', (JSON.parse(first.stdout) as { result: ToolResult }).result);
const second = await inspect();
check('Inspector, second run with its stored tokens', (JSON.parse(second.stdout) as { result: ToolResult }).result);

await person.leave();
await opener.close();

/** Waits for the authorization URL that a client opens, and consents there as the user. */
async function allow(): Promise<void> {
  await person.decide(await opener.nextUrl(), 'Allow');
}

/** Checks that the tool returned the demo's projects. */
function check(client: string, { structuredContent }: ToolResult): void {
  const { projects } = structuredContent as { projects: { id: string }[] };
  assert.deepEqual(
    projects.map(({ id }) => id),
    demo.projects.map(({ id }) => id),
  );
  process.stdout.write(`  ${client}: signed in, ${projects.length} projects\n`);
}
