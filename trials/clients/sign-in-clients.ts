/**
 * Checks that MCP clients of others can complete the OAuth sign-in: version 1 of the MCP SDK, mcp-remote and the MCP Inspector. Each opens its authorization
 * URL in a browser, where a scripted user consents, and then calls a tool. Run by `trials/clients/run` with the server's URL in `MCP_URL`.
 */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Assistant } from './assistant.ts';
import { CLIENTS, runBin, type ToolResult } from './clients.ts';
import * as demo from './demo.ts';
import { openBrowser } from './person.ts';

const url = process.env['MCP_URL']!;
const TOOL = 'list_projects';
const ARGS = { scope: 'all' };

// mcp-remote and the Inspector start a browser themselves: on Linux by `xdg-open`, or by a library that reads BROWSER. This script replaces both,
// and writes the URL into a file for `allow`.
const openerFolder = await mkdtemp(join(tmpdir(), 'crs-opener-'));
const openedUrlFile = join(openerFolder, 'url');
const opener = join(openerFolder, 'xdg-open');
await writeFile(opener, `#!/bin/sh\nprintf '%s\\n' "$1" >'${openedUrlFile}'\n`);
await chmod(opener, 0o755);
Object.assign(process.env, { PATH: `${openerFolder}:${process.env['PATH']}`, BROWSER: opener, MCP_AUTO_OPEN_ENABLED: 'true' });

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
await rm(openerFolder, { recursive: true });

/** Waits up to 30 s until a client opens its authorization URL, and consents there as the user. */
async function allow(): Promise<void> {
  for (let attempts = 0; attempts < 300; attempts++) {
    const authorizationUrl = await readFile(openedUrlFile, 'utf8').catch(() => '');
    // Without its newline, the file is still being written.
    if (authorizationUrl.endsWith('\n')) {
      await rm(openedUrlFile);
      await person.decide(authorizationUrl.trim(), 'Allow');
      return;
    }
    await sleep(100);
  }
  throw new Error('no client opened a browser within 30 s');
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
